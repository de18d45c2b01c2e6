// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import LarderTesting
import Logging
import Testing

@testable import LarderProxy

@Suite("Lines about failures")
struct ProblemLogTests {
    private let recorder = Recorder<String>()
    private let refused = Problem(
        status: 502, title: "Bad Gateway", proxyError: .connectionRefused, detail: "Nobody listens at a:80.",
        advice: "Start it.")

    private func lines(_ body: (inout ProblemLog, Logger) throws -> Void) rethrows -> [String] {
        var log = ProblemLog()
        try body(&log, .recording(into: recorder))
        return recorder.values
    }

    @Test func `a failure is a line that says where, what and what to do`() throws {
        let uri = try TargetURI("http://a.test/x?secret=1")
        let url = SecretText.logged(url: uri.string)
        #expect(
            lines { log, logger in log.note(refused, about: uri, url, at: 0, to: logger) } == [
                "a request was answered with an error advice=Start it. detail=Nobody listens at a:80. "
                    + "error=connection_refused origin=a.test status=502 url=http://a.test/x"
            ])
    }

    @Test func `a line does not quote a response that is for one client`() throws {
        var problem = refused
        problem.detail = "It begins with: secret"
        problem.publicDetail = "It was refused"
        let uri = try TargetURI("http://a.test/")
        let found = lines { log, logger in log.note(problem, about: uri, "", at: 0, to: logger) }
        #expect(found.first?.contains("detail=It was refused ") == true, "\(found)")
    }

    @Test func `the same is said again only after a while, with how often it happened`() throws {
        let uri = try TargetURI("http://a.test/")
        let lines = lines { log, logger in
            for second in 0..<12 { log.note(refused, about: uri, "", at: Int64(second) * 1_000_000_000, to: logger) }
        }
        #expect(lines.count == 2)
        #expect(lines.last?.contains("omitted=9") == true)
    }

    @Test func `other origins have lines of their own, up to a bound`() throws {
        let lines = try lines { log, logger in
            for number in 0..<1_000 {
                log.note(refused, about: try TargetURI("http://a\(number).test/"), "", at: Int64(number), to: logger)
            }
            log.note(refused, about: try TargetURI("http://a0.test/"), "", at: 1_001, to: logger)
        }
        #expect(lines.count == RepeatedLines<Int>.limit)
    }

    @Test func `refusals leave no line`() throws {
        let uri = try TargetURI("http://a.test/")
        #expect(lines { log, logger in log.note(.tunnelLimit, about: uri, "", at: 0, to: logger) } == [])
        #expect(lines { log, logger in log.note(.traceRefused, about: uri, "", at: 0, to: logger) } == [])
    }

    @Test(arguments: [("Over.", "Over."), ("Over", "Over."), ("Why?", "Why?"), ("", ".")])
    func `a sentence has one full stop`(text: String, sentence: String) {
        #expect(text.withFullStop == sentence)
    }

    @Test func `Proxy-Status says what happened, in ASCII`() {
        var problem = refused
        problem.detail = "‘a’ is not there."
        #expect(problem.proxyStatus == "Larder; error=connection_refused; details=\"'a' is not there.\"")
        let long = Problem(
            status: 504, title: "T", proxyError: .connectionRefused, detail: String(repeating: "a", count: 201),
            advice: "B.")
        #expect(long.proxyStatus.hasSuffix("aaa...\""))
    }
}
