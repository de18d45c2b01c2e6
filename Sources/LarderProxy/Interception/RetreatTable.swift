// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Which clients do not trust the local authority, so that what they ask of a host passes unseen for a while.
///
/// A client says so by an alert, or hangs up in the middle of the handshake; as that happens for other reasons too, it
/// counts the second time. Bounded: where there are too many, those that end first are forgotten.
package struct RetreatTable: Sendable {
    /// Who asked for what. Several programs on one machine are told apart as far as they give their names.
    package struct Key: Hashable, Sendable {
        package let client: String
        /// `User-Agent` of the CONNECT request; empty without one.
        package let agent: String
        /// The lane that the client is in; empty without one.
        package let lane: String
        package let authority: Authority

        package init(client: String, agent: String, lane: String = "", authority: Authority) {
            self.client = client
            self.lane = lane
            self.agent = String(agent.unicodeScalars.prefix(80))
            self.authority = authority
        }
    }

    /// How a handshake failed.
    enum Failure { case refusal, silence }

    private struct Doubt {
        var silences = 0
        /// Monotonic nanoseconds until which the client is left alone; nil while it has only hung up.
        var until: Int64?
        var notedAt: Int64
    }

    static let limit = 512
    private var doubts: [Key: Doubt] = [:]

    package init() {}

    /// Whether what `key` asks for passes unseen at `now`.
    mutating func isRetreat(_ key: Key, now: Int64) -> Bool {
        guard !doubts.isEmpty, let until = doubts[key]?.until else { return false }
        if until > now { return true }
        doubts[key] = nil
        return false
    }

    /// Notes a handshake that failed. True if that is why the client is left alone from now on.
    mutating func failed(_ failure: Failure, of key: Key, now: Int64, for duration: Duration) -> Bool {
        guard duration > .zero else { return false }
        var doubt = doubts[key] ?? Doubt(notedAt: now)
        doubt.notedAt = now
        if failure == .silence { doubt.silences += 1 }
        if failure == .refusal || doubt.silences >= 2 {
            let (end, isPastAll) = now.addingReportingOverflow(duration.wholeNanoseconds)
            doubt.until = isPastAll ? .max : end
        }
        doubts[key] = doubt
        if doubts.count > RetreatTable.limit, let oldest = doubts.min(by: { $0.value.notedAt < $1.value.notedAt }) {
            doubts[oldest.key] = nil
        }
        return doubt.until != nil
    }

    /// The client trusts the authority after all.
    mutating func succeeded(_ key: Key) {
        if !doubts.isEmpty { doubts[key] = nil }
    }

    /// Those that are left alone at `now`, with the time that is left.
    package func current(now: Int64) -> [(key: Key, left: Duration)] {
        doubts.compactMap { key, doubt in
            doubt.until.flatMap { $0 > now ? (key, .nanoseconds($0 - now)) : nil }
        }
    }
}
