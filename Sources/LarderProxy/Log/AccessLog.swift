// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Logging

/// One line for each exchange: what was asked, what was answered, and why from where. Queries, which may hold
/// secrets, and fields are left out.
struct AccessLog: Sendable {
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    func write(_ record: ExchangeRecord, head: RequestHead, uri: TargetURI) {
        let subject = uri.isEmpty ? Self.shown(head.target) : uri.origin + uri.path
        logger.info(
            "exchange",
            metadata: [
                "method": "\(head.method)", "url": "\(subject)",
                // An exchange that was aborted has none.
                "status": "\(record.status == 0 ? "-" : "\(record.status)")",
                "service": "\(record.service)",
                "outcome": "\(record.kind)", "reason": "\(record.reason)",
                "cache": "\(record.cacheStatus?.member() ?? "-")",
                "bytes": "\(record.contentSent)", "microseconds": "\(record.duration / 1000)",
                "problem": "\(record.problem?.title ?? "-")",
            ])
    }

    /// A target that became no URI, without the parts that may hold secrets: user information and query.
    private static func shown(_ target: [UInt8]) -> String {
        let start = target.prefix { $0 != UInt8(ascii: "?") }
        let rest = start.lastIndex(of: UInt8(ascii: "@")).map { start[($0 + 1)...] } ?? start
        return String(decoding: rest.prefix(1024), as: UTF8.self)
    }
}
