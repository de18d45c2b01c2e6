// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Testing

@Suite("Maps that only grow")
struct OnceMapTests {
    final class Box: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test func `a value is computed once, and each key has its own`() {
        let map = OnceMap<Int, Box>()
        var made = 0
        for _ in 0..<2 {
            for key in 0..<200 {
                let box = map.value(for: key) {
                    made += 1
                    return Box(key)
                }
                #expect(box.number == key)
            }
        }
        #expect(made == 200)
    }

    @Test func `of values computed at once, one is everybody's`() async {
        let map = OnceMap<Int, Box>()
        let boxes = await withTaskGroup(of: [Box].self) { group in
            for task in 0..<8 {
                group.addTask { (0..<500).map { key in map.value(for: key) { Box(task) } } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for key in 0..<500 { #expect(boxes.allSatisfy { $0[key] === boxes[0][key] }) }
    }

    @Test func `what could not be computed is computed the next time`() throws {
        struct Failed: Error {}
        let map = OnceMap<Int, Box>()
        #expect(throws: Failed.self) { try map.value(for: 1) { throw Failed() } }
        #expect(map.value(for: 1) { Box(1) }.number == 1)
    }
}
