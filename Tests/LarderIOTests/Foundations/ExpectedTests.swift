// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderTesting
import Testing

@Suite("Objects that come later", .timeLimit(.minutes(1)))
struct ExpectedTests {
    private final class Thing: Sendable {}

    @Test func `what is asked for before it comes is done then, and what comes after at once`() async {
        let expected = Expected<Thing>()
        let done = Recorder<Int>()
        let thing = Thing()
        expected.whenThere { _ in done.add(1) }
        async let waited = expected.wait()
        #expect(done.values.isEmpty && expected.value == nil)
        expected.fulfil(thing)
        expected.whenThere { _ in done.add(2) }
        #expect(done.values == [1, 2])
        #expect(await waited === thing)
        #expect(await expected.wait() === thing)
    }

    @Test(arguments: [false, true]) func `once it is given up nobody waits, and nothing is done`(hasCome: Bool) async {
        let expected = Expected<Thing>()
        let done = Recorder<Int>()
        let thing = Thing()
        if hasCome { expected.fulfil(thing) } else { expected.whenThere { _ in done.add(1) } }
        async let waited = expected.wait()
        expected.giveUp()
        expected.whenThere { _ in done.add(2) }
        #expect(done.values.isEmpty && expected.value == nil)
        #expect(await expected.wait() === nil)
        // It may have been there when that began.
        let found = await waited
        #expect(found === nil || hasCome)
    }
}
