// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import Logging
import Testing

@testable import LarderProxy

@Suite("The access log")
struct AccessLogTests {
    private static let line = AccessLine(
        record: ExchangeRecord(), method: "GET", url: "http://origin.example/", version: .http11, client: "127.0.0.1",
        agent: nil, trace: nil, contentType: nil, host: "origin.example", now: Timestamp(seconds: 0))

    @Test func `the thousandth line is as little work as the first`() {
        let log = AccessLog(logger: Logger(label: "test"))
        let depths = Lock([UInt]())
        log.send { _ in
            var mark = 0
            let depth = withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) }
            depths.withLock { $0.append(depth) }
        }
        for _ in 0..<1000 { log.write(Self.line, in: .combined) }
        // Each was written as deep in the stack as the others.
        #expect(depths.withLock { $0.count } == 1000)
        #expect(Set(depths.withLock { $0 }).count == 1)
    }
}
