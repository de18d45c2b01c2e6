// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
package import Logging

/// Log lines about Larder's own 5xx responses: the origin, the failure, the remedy. At most one line in ten seconds is
/// logged for each origin and kind of failure. Confined to its loop.
struct ProblemLog {
    private struct Subject: Hashable {
        let authority: String
        let error: ProxyStatus.ErrorType
    }

    private var lines = RepeatedLines<Subject>()

    /// True if the problem is logged: a failure of the origin or of Larder, not a refusal.
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

/// Log lines about repeated events: at most one line for each subject in `interval`, with the number of lines omitted
/// before it. Subjects beyond the most that are remembered have no lines.
package struct RepeatedLines<Subject: Hashable & Sendable>: Sendable {
    private struct Silence {
        let until: Int64
        var omitted = 0
    }

    /// Nanoseconds during which a subject is not repeated.
    package static var interval: Int64 { 10_000_000_000 }
    /// The most subjects remembered.
    package static var limit: Int { 256 }

    private var silences: [Subject: Silence] = [:]

    package init() {}

    /// The logger for a line about the subject, which says how many were left out; nil if there is to be none now.
    ///
    /// - Parameter now: in monotonic nanoseconds.
    package mutating func logger(_ logger: Logger, about subject: Subject, at now: Int64) -> Logger? {
        guard let omitted = omitted(subject, at: now) else { return nil }
        var logger = logger
        if omitted > 0 { logger[metadataKey: "omitted"] = "\(omitted)" }
        return logger
    }

    /// How many lines about the subject were left out, if there is to be one now.
    private mutating func omitted(_ subject: Subject, at now: Int64) -> Int? {
        if let silence = silences[subject], silence.until > now {
            silences[subject]?.omitted += 1
            return nil
        }
        let omitted = silences[subject]?.omitted ?? 0
        if silences.count >= Self.limit { silences = silences.filter { $0.value.until > now } }
        guard silences.count < Self.limit || silences[subject] != nil else { return nil }
        silences[subject] = Silence(until: now + Self.interval)
        return omitted
    }
}
