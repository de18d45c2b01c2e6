// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// Clients that do not trust the local authority; their connections to a host are tunnelled for a while.
///
/// A client shows this by an alert, or by closing the connection during the handshake; as that happens for other
/// reasons too, it counts the second time. Bounded: the entries that end first are dropped.
package struct RetreatTable: Sendable {
    /// A client and a host. Programs of one user on one machine are distinguished by their `User-Agent`. Each user has
    /// separate entries, so that no user can end interception for another user.
    package struct Key: Hashable, Sendable {
        package let client: String
        /// `User-Agent` of the CONNECT request; empty without one.
        package let agent: String
        /// The lane that the client is in; empty without one.
        package let lane: String
        package let authority: Authority
        /// The name among `access.users`; nil without one.
        package let user: String?
        /// The user of this machine who owns the connection, where it is known and the client is in no lane.
        package var owner: UInt32?

        package init(
            client: String, agent: String, lane: String = "", authority: Authority, user: String? = nil,
            owner: UInt32? = nil
        ) {
            self.client = client
            self.user = user
            self.owner = owner
            self.lane = lane
            self.agent = String(agent.unicodeScalars.prefix(80))
            self.authority = authority
        }
    }

    /// How a handshake failed.
    enum Failure { case refusal, silence }

    private struct Doubt {
        var silences = 0
        /// Monotonic nanoseconds until which the client's connections are tunnelled; nil while it has only closed one.
        var until: Int64?
        var notedAt: Int64
    }

    static let limit = 512
    private var doubts: [Key: Doubt] = [:]

    package init() {}

    /// True if connections of `key` are tunnelled at `now`.
    mutating func isRetreat(_ key: Key, now: Int64) -> Bool {
        guard !doubts.isEmpty, let until = doubts[key]?.until else { return false }
        if until > now { return true }
        doubts[key] = nil
        return false
    }

    /// Records a failed handshake. True if the client's connections are tunnelled from now on because of it.
    mutating func failed(_ failure: Failure, of key: Key, now: Int64, for duration: Duration) -> Bool {
        guard duration > .zero else { return false }
        var doubt = doubts[key] ?? Doubt(notedAt: now)
        doubt.notedAt = now
        if failure == .silence { doubt.silences += 1 }
        if failure == .refusal || doubt.silences >= 2 {
            doubt.until = now.advanced(by: duration)
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

    /// The entries in force at `now`, with their remaining time.
    package func current(now: Int64) -> [(key: Key, left: Duration)] {
        doubts.compactMap { key, doubt in
            doubt.until.flatMap { $0 > now ? (key, .nanoseconds($0 - now)) : nil }
        }
    }
}
