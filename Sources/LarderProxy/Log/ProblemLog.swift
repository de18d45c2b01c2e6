// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Logging

/// Log lines about Larder's own 5xx responses: the origin, the failure, the remedy. One for each origin and kind of
/// failure in ten seconds, however many requests fail. Confined to its loop.
struct ProblemLog {
    private struct Subject: Hashable {
        let authority: String
        let error: ProxyStatus.ErrorType
    }

    private var lines = RepeatedLines<Subject>()

    /// Whether the problem is logged: a failure of the origin or of Larder, not a refusal.
    private static func isFailure(_ problem: Problem) -> Bool {
        problem.status.isServerError && problem.proxyError != .httpRequestDenied
            && problem.proxyError != .connectionLimitReached
    }

    /// - Parameters:
    ///   - url: as it may be in a log.
    ///   - now: in monotonic nanoseconds.
    mutating func note(
        _ problem: Problem, about uri: TargetURI, _ url: @autoclosure () -> String, at now: Int64, to logger: Logger
    ) {
        guard Self.isFailure(problem) else { return }
        let subject = Subject(authority: uri.isEmpty ? "-" : uri.authority, error: problem.proxyError)
        guard let logger = lines.logger(logger, about: subject, at: now) else { return }
        logger.warning(
            "a request was answered with an error",
            metadata: [
                "status": "\(problem.status)", "error": "\(problem.proxyError.rawValue)",
                "origin": "\(subject.authority)", "url": "\(url())",
                "detail": "\(problem.publicDetail ?? problem.detail)", "advice": "\(problem.advice)",
            ])
    }
}
