// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Logging

/// Log lines about Larder's own 5xx responses: the origin, the failure, the remedy. One for each origin and kind of
/// failure in `interval`, however many requests fail. Confined to its loop.
struct ProblemLog {
    private struct Subject: Hashable {
        let authority: String
        let error: ProxyStatus.ErrorType
    }

    private struct Silence {
        let until: Int64
        var omitted = 0
    }

    /// Nanoseconds during which the same line is not repeated.
    static let interval: Int64 = 10_000_000_000
    /// The most subjects remembered.
    static let limit = 256

    private var silences: [Subject: Silence] = [:]

    /// Whether the problem is logged: a failure of the origin or of Larder, not a refusal.
    private static func isFailure(_ problem: Problem) -> Bool {
        problem.status.isServerError && problem.proxyError != .httpRequestDenied
            && problem.proxyError != .connectionLimitReached
    }

    /// - Parameter now: in monotonic nanoseconds.
    mutating func note(_ problem: Problem, about uri: TargetURI, at now: Int64, to logger: Logger) {
        guard Self.isFailure(problem) else { return }
        let subject = Subject(authority: uri.isEmpty ? "-" : uri.authority, error: problem.proxyError)
        if let silence = silences[subject], silence.until > now {
            silences[subject]?.omitted += 1
            return
        }
        let omitted = silences[subject]?.omitted ?? 0
        if silences.count >= Self.limit { silences = silences.filter { $0.value.until > now } }
        if silences.count < Self.limit { silences[subject] = Silence(until: now + Self.interval) }
        logger.warning(
            "a request was answered with an error",
            metadata: [
                "status": "\(problem.status)", "error": "\(problem.proxyError.rawValue)",
                "origin": "\(subject.authority)", "detail": "\(problem.detail)", "advice": "\(problem.advice)",
                "omitted": "\(omitted)",
            ])
    }
}
