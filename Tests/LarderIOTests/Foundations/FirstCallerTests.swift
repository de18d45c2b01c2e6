// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Testing

@Suite("First callers")
struct FirstCallerTests {
    @Test func `one of many does the work, and the others get its result`() async {
        let first = FirstCaller<Int>()
        let results = Lock<[Int: Int]>([:])
        let made = Lock(0)
        await withTaskGroup(of: Bool.self) { group in
            for caller in 0..<300 {
                group.addTask {
                    let key = caller % 3
                    if results.withLock({ $0[key] }) == nil, await first.begin(key) {
                        defer { first.end(key) }
                        if results.withLock({ $0[key] }) == nil {
                            made.withLock { $0 += 1 }
                            await Task.yield()
                            results.withLock { $0[key] = key }
                        }
                    }
                    return results.withLock { $0[key] } == key
                }
            }
            for await hasResult in group { #expect(hasResult) }
        }
        #expect(made.withLock { $0 } == 3)
    }

    @Test func `after an end there is a first again`() async {
        let first = FirstCaller<String>()
        #expect(await first.begin("a"))
        async let other = first.begin("a")
        #expect(await first.begin("b"))
        first.end("a")
        // Waited for "a", or came after its end.
        if await other { first.end("a") }
        #expect(await first.begin("a"))
    }
}
