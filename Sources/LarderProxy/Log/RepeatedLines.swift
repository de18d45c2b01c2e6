// SPDX-License-Identifier: Apache-2.0

package import Logging

/// Lines of a log about what happens again and again: one for each subject in `interval`, with the number of those that
/// were left out before it. Of more subjects than are remembered, the rest have none.
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
