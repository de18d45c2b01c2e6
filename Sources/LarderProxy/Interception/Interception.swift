// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO
package import LarderSettings
package import LarderUpstream
import Logging

/// State of interception shared by all loops: the local authority, its certificates, and clients that do not accept
/// them.
package final class Interception: Sendable {
    private struct State {
        var authority: LocalAuthority?
        var context: TLSServerContext?
        var retreats = RetreatTable()
        var tunnels = TunnelTable()
        /// Origins that only clients themselves can speak to, and the monotonic time until which that is remembered.
        var obstacles: [Authority: (reason: TunnelReason, until: Int64)] = [:]
        var opened: UInt64 = 0
    }

    private let keeper: AuthorityFiles?
    private let leaves = LeafStore()
    private let state = Lock(State())
    /// Held while the authority changes, in memory and its files: two that are made at once would each leave half of
    /// itself.
    private let changing = Lock(())
    private static let obstacleLimit = 512
    private let lines = Lock(RepeatedLines<TunnelReason>())

    /// - Parameter keeper: nil keeps the authority in memory only.
    package init(keeper: AuthorityFiles? = nil) { self.keeper = keeper }

    // MARK: The authority

    package var authority: LocalAuthority? { state.withLock { $0.authority } }

    /// Loads the saved authority. Reads files.
    package func load() throws { try changing.withLock { _ in try loadSaved() } }

    private func loadSaved() throws {
        if let kept = try keeper?.load() { hold(kept) }
    }

    /// The authority, created now if there is none. May write files.
    ///
    /// - Parameter now: the wall clock's time.
    @discardableResult
    package func makeAuthority(now: Timestamp) throws -> LocalAuthority {
        if let authority { return authority }
        return try changing.withLock { _ in try made(now: now) }
    }

    private func made(now: Timestamp) throws -> LocalAuthority {
        if let authority { return authority }
        // `06 Nov 1994` of `Sun, 06 Nov 1994 08:49:37 GMT`.
        let day = String(HTTPDate.string(now).dropFirst(5).prefix(11))
        let made = try LocalAuthority(machine: keeper?.machine ?? "memory", day: day, now: now.seconds)
        try keeper?.save(made)
        hold(made)
        return made
    }

    /// Renews the authority for another year.
    package func renewAuthority(now: Timestamp) throws -> LocalAuthority {
        try changing.withLock { _ in
            let renewed = try made(now: now).renewed(now: now.seconds)
            try keeper?.save(renewed)
            hold(renewed)
            return renewed
        }
    }

    /// Removes the authority, its key first. From then on, connections are not intercepted.
    package func removeAuthority() throws {
        try changing.withLock { _ in
            state.withLock { state in
                state.authority = nil
                state.context = nil
            }
            leaves.removeAll()
            try keeper?.remove()
        }
    }

    /// Creates the authority if `settings` require one.
    package func prepare(for settings: Settings, now: Timestamp) throws {
        try changing.withLock { _ in
            if authority == nil { try loadSaved() }
            if !settings.intercept.hosts.isEmpty { _ = try made(now: now) }
        }
    }

    private func hold(_ authority: LocalAuthority) {
        CoreDumps.refuse()
        state.withLock { $0.authority = authority }
        leaves.removeAll()
    }

    /// How long before its expiry the authority is reported as expiring.
    package static let notice = Duration.seconds(30 * 86_400)

    // MARK: Connections

    /// The TLS identity for a handshake in the name of `host`.
    func identity(
        for host: String, now: Timestamp
    ) async throws -> (context: TLSServerContext, leaf: LeafCertificate) {
        // Before the authority, so that no certificate of a former one is kept.
        let generation = leaves.generation
        guard let authority else { throw IOError(.tlsFailed, operation: "open https", detail: "there is no local CA") }
        let context = try state.withLock { state in
            let context = try state.context ?? TLSServerContext()
            state.context = context
            return context
        }
        return (context, try await leaves.leaf(for: host, by: authority, generation: generation, now: now.seconds))
    }

    /// The logger for a line about a tunnel of a host that should be intercepted; nil if there were such lines lately.
    func logger(_ logger: Logger, about reason: TunnelReason, at now: Int64) -> Logger? {
        lines.withLock { $0.logger(logger, about: reason, at: now) }
    }

    /// Why a configured host is not intercepted for a client; nil if it is.
    func exception(for key: RetreatTable.Key, now: Int64) -> TunnelReason? {
        state.withLock { state in
            if state.authority == nil { return .noCertificate }
            if let obstacle = state.obstacles[key.authority], obstacle.until > now { return obstacle.reason }
            return state.retreats.isRetreat(key, now: now) ? .refused : nil
        }
    }

    func opened(_ key: RetreatTable.Key) {
        state.withLock { state in
            state.opened += 1
            state.retreats.succeeded(key)
        }
    }

    /// Records a client's failed handshake. True if its connections are tunnelled from now on.
    func failed(_ error: IOError, of key: RetreatTable.Key, now: Int64, for duration: Duration) -> Bool {
        guard error.isCertificateRefusal || error.code == .connectionReset else { return false }
        return state.withLock {
            $0.retreats.failed(
                error.isCertificateRefusal ? .refusal : .silence, of: key, now: now, for: duration)
        }
    }

    /// Clients that did not trust the authority are tried again, as they may trust it by now, and so are origins that
    /// asked for a certificate: there may be one for them.
    package func forgetRefusals() {
        state.withLock { state in
            state.retreats = RetreatTable()
            state.obstacles = [:]
        }
    }

    /// Records that only clients themselves can speak to an origin. A client certificate is asked for until a reload, for
    /// which there may be one; an origin that speaks HTTP/2 alone may speak HTTP/1.1 after `duration`.
    package func note(_ obstacle: OriginObstacle, of origin: Origin, now: Int64, for duration: Duration) {
        guard let authority = try? Authority(origin.authority, defaultPort: origin.port) else { return }
        state.withLock { state in
            if state.obstacles.count >= Interception.obstacleLimit {
                state.obstacles = state.obstacles.filter { $0.value.until > now }
            }
            guard state.obstacles.count < Interception.obstacleLimit else { return }
            switch obstacle {
            case .asksForCertificate: state.obstacles[authority] = (.clientCertificate, .max)
            case .speaksHTTP2Only: state.obstacles[authority] = (.originHTTP2, now.advanced(by: duration))
            }
        }
    }

    /// The reason to tunnel connections to a host for every client; nil if there is no such reason.
    package func obstacle(of authority: Authority, now: Int64) -> TunnelReason? {
        state.withLock { $0.obstacles[authority].flatMap { $0.until > now ? $0.reason : nil } }
    }

    // MARK: Tunnels

    func tunnelBegan(_ authority: Authority, _ reason: TunnelReason, client: String, at now: Timestamp) {
        state.withLock { $0.tunnels.began(authority, reason, client: client, at: now) }
    }

    func tunnelEnded(_ authority: Authority, _ reason: TunnelReason, octets: Int) {
        state.withLock { $0.tunnels.ended(authority, reason, octets: octets) }
    }

    // MARK: Looking

    package var tunnelTable: TunnelTable { state.withLock { $0.tunnels } }
    package var tunnels: [TunnelTable.Line] { tunnelTable.lines }
    package func retreats(now: Int64) -> [(key: RetreatTable.Key, left: Duration)] {
        state.withLock { $0.retreats }.current(now: now)
    }
    /// Intercepted connections.
    package var opened: UInt64 { state.withLock { $0.opened } }
    /// Certificates issued for hosts.
    package var leavesMade: Int { leaves.made }
}
