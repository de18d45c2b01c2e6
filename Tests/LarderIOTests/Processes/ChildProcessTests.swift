// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderIO

@Suite("Child processes")
struct ChildProcessTests {
    private func start(_ script: String, environment: [String] = []) throws -> ChildProcess {
        try ChildProcess(path: "/bin/sh", arguments: ["-c", script], environment: environment)
    }

    private var later: ContinuousClock.Instant { .now + .seconds(60) }

    @Test func `a child answers again and again until its input ends`() throws {
        let child = try start("while read line; do echo \"got $line\"; done; echo bye")
        for word in ["one", "two"] {
            var output: [UInt8] = []
            let outcome = try child.exchange(
                Array("\(word)\n".utf8), closingInput: false, into: &output, limit: 100, until: later,
                isComplete: { $0.last == UInt8(ascii: "\n") })
            #expect(outcome == .complete)
            #expect(String(decoding: output, as: UTF8.self) == "got \(word)\n")
            #expect(!child.hasEnded)
        }
        var rest: [UInt8] = []
        #expect(try child.exchange([], closingInput: true, into: &rest, limit: 100, until: later) == .closed)
        #expect(String(decoding: rest, as: UTF8.self) == "bye\n")
        #expect(child.hasEnded)
        #expect(child.end() == .exited(0))
        #expect(child.end() == .exited(0))
    }

    @Test func `only the given environment is there, and complaints are kept up to a limit`() throws {
        let child = try start("echo \"$NAME-$HOME\"; yes complaint | head -c 100000 >&2", environment: ["NAME=value"])
        var output: [UInt8] = []
        #expect(try child.exchange([], closingInput: true, into: &output, limit: 100, until: later) == .closed)
        #expect(String(decoding: output, as: UTF8.self) == "value-\n")
        #expect(child.complaint.count == 4_096)
        #expect(child.complaint.starts(with: "complaint\n".utf8))
    }

    @Test func `what hangs is told, and killed when it is ended`() throws {
        let child = try start("exec sleep 600")
        var output: [UInt8] = []
        let outcome = try child.exchange(
            [1], closingInput: true, into: &output, limit: 10, until: .now + .milliseconds(20))
        #expect(outcome == .timedOut)
        #expect(child.end() == .killed(signal: 9))
    }

    @Test func `what cannot be started is an error that says why`() {
        do throws(IOError) {
            _ = try ChildProcess(path: "/nowhere/at-all", arguments: [], environment: [])
            Issue.record("it started")
        } catch {
            #expect(error.errno == 2)
            #expect(error.operation == "start /nowhere/at-all")
        }
    }
}

@Suite("Slots")
struct SlotsTests {
    @Test func `a place is taken, waited for and given back`() {
        let slots = Slots(2)
        #expect(slots.take(within: .zero))
        #expect(slots.take(within: .seconds(60)))
        #expect(!slots.take(within: .zero))
        #expect(!slots.take(within: .milliseconds(5)))
        slots.giveBack()
        #expect(slots.take(within: .zero))
    }

    @Test func `who waits gets a place as soon as there is one`() throws {
        let slots = Slots(1)
        #expect(slots.take(within: .zero))
        let hasIt = Lock(false)
        let waiter = try Thread.start(name: "waiter") {
            let got = slots.take(within: .seconds(60))
            hasIt.withLock { $0 = got }
        }
        slots.giveBack()
        waiter.join()
        #expect(hasIt.withLock { $0 })
    }
}
