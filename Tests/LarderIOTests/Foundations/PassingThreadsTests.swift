// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Testing

@Suite("Threads that are there while there is work")
struct PassingThreadsTests {
    /// Runs `count` jobs at once, none of which ends before all have begun.
    private func fill(_ threads: PassingThreads, _ count: Int) async {
        let begun = Monitor(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        let isTaken = threads.submit {
                            begun.change { $0 += 1 }
                            begun.wait { $0 >= count ? .done(()) : .wait(until: nil) }
                            continuation.resume()
                        }
                        #expect(isTaken)
                    }
                }
            }
        }
    }

    @Test func `as many jobs run at a time as there may be threads`() async {
        let threads = PassingThreads(name: "test", limit: 3, patience: .seconds(60))
        #expect(threads.count == 0)
        for _ in 0..<20 { await fill(threads, 3) }
        #expect(threads.count == 3)
    }

    @Test func `threads without a job end`() async {
        let threads = PassingThreads(name: "test", limit: 3, patience: .milliseconds(1))
        for _ in 0..<5 {
            await fill(threads, 3)
            while threads.count > 0 { await Task.yield() }
        }
    }

    @Test func `further jobs wait in order, up to a limit`() async {
        let threads = PassingThreads(name: "test", limit: 1, queueLimit: 2, patience: .seconds(60))
        let isOpen = Monitor(false)
        let done = Monitor([Int]())
        #expect(threads.submit { isOpen.wait { $0 ? .done(()) : .wait(until: nil) } })
        for number in 1...2 { #expect(threads.submit { done.change { $0.append(number) } }) }
        #expect(!threads.submit {})
        isOpen.change { $0 = true }
        while done.withLock({ $0.count }) < 2 { await Task.yield() }
        #expect(done.withLock { $0 } == [1, 2])
        await fill(threads, 1)
        #expect(threads.count == 1)
    }
}
