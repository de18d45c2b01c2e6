// SPDX-License-Identifier: Apache-2.0

package import LarderIO

/// The certificates issued by the local authority for hosts, a limited number of them kept in memory.
///
/// They are issued on a thread of their own, once for all callers waiting for a host.
package final class LeafStore: Sendable {
    private struct Kept {
        let leaf: LeafCertificate
        var lastUse: UInt64
    }

    private struct State {
        var leaves: [String: Kept] = [:]
        var uses: UInt64 = 0
        var made = 0
        /// Counts how often all were removed.
        var generation = 0
    }

    private let state = Lock(State())
    private let first = FirstCaller<String>()
    private let pool = Lock<WorkerPool?>(nil)
    private let limit: Int

    /// A certificate is renewed when less than this is left of it, in seconds.
    static let margin: Int64 = 86_400

    /// The most hosts that wait for a certificate: what one client asks for at once must not leave others without. They
    /// take some three seconds.
    private static let waiting = 4096

    package init(limit: Int = 1024) { self.limit = limit }

    /// The number issued so far.
    package var made: Int { state.withLock { $0.made } }

    /// How often all were removed.
    package var generation: Int { state.withLock { $0.generation } }

    /// The certificate for `host`.
    ///
    /// - Parameters:
    ///   - generation: as it was before `authority` was looked up.
    ///   - now: seconds since 1970.
    /// - Throws: when it cannot be issued, or too many callers wait.
    package func leaf(
        for host: String, by authority: LocalAuthority, generation: Int, now: Int64
    ) async throws -> LeafCertificate {
        if let leaf = kept(host, by: authority, now: now) { return leaf }
        guard await first.begin(host) else {
            guard let leaf = kept(host, by: authority, now: now) else {
                throw IOError(.overloaded, operation: "make a certificate for \(host)")
            }
            return leaf
        }
        defer { first.end(host) }
        if let leaf = kept(host, by: authority, now: now) { return leaf }
        let leaf = try await minters().run { try authority.leaf(for: host, now: now) }
        state.withLock { state in
            if state.generation == generation { keep(leaf, in: &state) }
        }
        return leaf
    }

    /// Removes all certificates: another authority signs from now on.
    func removeAll() {
        state.withLock { state in
            state.leaves = [:]
            state.generation += 1
        }
    }

    private func kept(_ host: String, by authority: LocalAuthority, now: Int64) -> LeafCertificate? {
        state.withLock { state in
            guard let kept = state.leaves[host] else { return nil }
            // A certificate made in the authority's last days ends with the authority.
            let left = kept.leaf.notAfter - now
            guard left > 0, left >= min(LeafStore.margin, authority.notAfter - now - 1) else { return nil }
            state.uses += 1
            state.leaves[host]?.lastUse = state.uses
            return kept.leaf
        }
    }

    private func keep(_ leaf: LeafCertificate, in state: inout State) {
        state.uses += 1
        state.made += 1
        state.leaves[leaf.host] = Kept(leaf: leaf, lastUse: state.uses)
        guard state.leaves.count > limit, let oldest = state.leaves.min(by: { $0.value.lastUse < $1.value.lastUse })
        else { return }
        state.leaves[oldest.key] = nil
    }

    private func minters() -> WorkerPool {
        pool.withLock { pool in
            if let pool { return pool }
            let made = WorkerPool(name: "larder-mint", threads: 1, queueLimit: LeafStore.waiting)
            pool = made
            return made
        }
    }
}
