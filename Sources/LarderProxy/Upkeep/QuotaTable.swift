// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderRules

/// The remaining quotas reported by origins, by service and credential. An origin may have several, each for some of its
/// paths: what one of them says is not about the others.
package final class QuotaTable: Sendable {
    package struct Line: Sendable, Equatable {
        package var service: String
        /// A number that identifies a credential without revealing it; different in each process.
        package var credential: UInt64
        package var left: RateLimit.Left
        /// The time of the report, in nanoseconds of the monotonic clock.
        package var at: Int64
        /// The time of the last report for a request that would have waited: requests that never wait prolong no wait.
        fileprivate var since: Int64

        /// When it is reset, as `at`.
        fileprivate var end: Int64 { at.advanced(by: left.reset) }

        fileprivate func isReset(at monotonic: Int64) -> Bool { left.reset <= .nanoseconds(monotonic - at) }
    }

    private struct Key: Hashable {
        let service: String
        let credential: UInt64

        init(_ head: RequestHead, of service: String) {
            var hasher = Hasher()
            for name in Credentials.all(in: head.fields) {
                hasher.combine(name.canonical)
                hasher.combine(head.fields[all: name])
            }
            self.service = service
            credential = UInt64(bitPattern: Int64(hasher.finalize()))
        }
    }

    private struct Path: Hashable {
        let service: String
        let hash: Int

        init(_ head: RequestHead, of service: String) {
            self.service = service
            hash = head.target.prefix { $0 != UInt8(ascii: "?") }.hashValue
        }
    }

    private struct State {
        /// By the names of the quotas.
        var lines: [Key: [String: Line]] = [:]
        /// The quotas of paths; nil for a path that reports no quota.
        var quotas: [Path: String?] = [:]
    }

    private let state = Lock(State())
    /// The most credentials recorded, and the most paths.
    private static let limit = 10_000
    /// The most quotas of a credential.
    private static let quotaLimit = 16

    package init() {}

    /// - Parameters:
    ///   - head: of the request, as the origin got it.
    ///   - insists: true if the request was sent regardless of the quota.
    ///   - hasReserve: true if requests wait for the quotas of their paths: then the absence of a quota is recorded.
    func note(
        _ response: ResponseHead, to head: RequestHead, insists: Bool, hasReserve: Bool = true, of service: String,
        now: Timestamp, at monotonic: Int64
    ) {
        let left = RateLimit.left(response.fields, now: now)
        guard left != nil || hasReserve else { return }
        let (key, path) = (Key(head, of: service), Path(head, of: service))
        state.withLock { state in
            guard left != nil || !state.lines.isEmpty else { return }
            // Any path may be dropped when there are this many.
            if state.quotas.count >= Self.limit, state.quotas[path] == nil {
                state.quotas.remove(at: state.quotas.startIndex)
            }
            // Many an API counts what it has, and says nothing of quotas where it has nothing.
            guard left != nil || !response.status.isError else { return }
            state.quotas[path] = .some(left?.name)
            guard let left else { return }
            if state.lines.count >= Self.limit, state.lines[key] == nil {
                state.lines.remove(at: state.lines.startIndex)
            }
            let former = state.lines[key]?[left.name]
            if former == nil, let lines = state.lines[key], lines.count >= Self.quotaLimit,
                let soonest = lines.min(by: { $0.value.end < $1.value.end })
            {
                state.lines[key]?[soonest.key] = nil
            }
            let since = insists ? former.flatMap { $0.isReset(at: monotonic) ? nil : $0.since } : nil
            state.lines[key, default: [:]][left.name] = Line(
                service: service, credential: key.credential, left: left, at: monotonic, since: since ?? monotonic)
        }
    }

    /// The time for which the remaining quota of a request is at most `reserve`; nil if more is left, or if no quota is
    /// known. A path that has not been requested yet counts for the greatest quota, if that is known, else for the
    /// quota with the most left.
    ///
    /// - Parameter limit: how long a report counts. After that a request finds out whether it still holds.
    func pause(
        reserve: Int, for head: RequestHead, of service: String, at monotonic: Int64, limit: Duration
    ) -> Duration? {
        let (key, path) = (Key(head, of: service), Path(head, of: service))
        let line = state.withLock { state -> Line? in
            guard let lines = state.lines[key] else { return nil }
            if let quota = state.quotas[path] { return quota.flatMap { lines[$0] } }
            return lines.values.max {
                ($0.left.limit ?? 0, $0.left.remaining) < ($1.left.limit ?? 0, $1.left.remaining)
            }
        }
        guard let line, line.left.remaining <= Int64(reserve) else { return nil }
        let rest = min(
            line.left.reset - .nanoseconds(monotonic - line.at), limit - .nanoseconds(monotonic - line.since))
        return rest > .zero ? rest : nil
    }

    /// The quotas that have not been reset, in the order of their services.
    func all(at monotonic: Int64) -> [Line] {
        state.withLock { state in
            state.lines = state.lines.compactMapValues { lines in
                let lines = lines.filter { !$0.value.isReset(at: monotonic) }
                return lines.isEmpty ? nil : lines
            }
            return state.lines.values.flatMap(\.values).map { line in
                var line = line
                line.left.reset -= .nanoseconds(monotonic - line.at)
                line.at = monotonic
                return line
            }.sorted { ($0.service, $0.credential, $0.left.name) < ($1.service, $1.credential, $1.left.name) }
        }
    }
}
