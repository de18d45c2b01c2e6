// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO
package import LarderUpstream

/// Where the local authority is kept between runs.
package protocol AuthorityKeeping: Sendable {
    /// The authority there is; nil when nobody has asked for one.
    func load() throws -> LocalAuthority?
    /// Keeps an authority in place of the one there was.
    func save(_ authority: LocalAuthority) throws
    /// Removes certificate and key.
    func remove() throws
    /// The host's name, for that of the authority.
    var machine: String { get }
}

/// What all loops share to open https: the local authority, what it has signed, and who cannot be served that way.
package final class Interception: Sendable {
    private struct State {
        var authority: LocalAuthority?
        var context: TLSServerContext?
        var retreats = RetreatTable()
        var tunnels = TunnelTable()
        /// Origins that ask for certificates of clients.
        var demanding: Set<Authority> = []
        var opened: UInt64 = 0
    }

    private let keeper: (any AuthorityKeeping)?
    private let leaves = LeafStore()
    private let state = Lock(State())
    private static let demandingLimit = 512

    /// - Parameter keeper: nil keeps the authority in memory only.
    package init(keeper: (any AuthorityKeeping)? = nil) { self.keeper = keeper }

    // MARK: The authority

    package var authority: LocalAuthority? { state.withLock { $0.authority } }

    /// Takes over the authority that was kept. It reads files.
    package func load() throws {
        if let kept = try keeper?.load() { hold(kept) }
    }

    /// The authority, made now if there is none. It may write files.
    ///
    /// - Parameter now: the wall clock's time.
    @discardableResult
    package func makeAuthority(now: Timestamp) throws -> LocalAuthority {
        if let authority { return authority }
        // `06 Nov 1994` of `Sun, 06 Nov 1994 08:49:37 GMT`.
        let day = String(HTTPDate.string(now).dropFirst(5).prefix(11))
        let made = try LocalAuthority(machine: keeper?.machine ?? "memory", day: day, now: now.seconds)
        try keeper?.save(made)
        hold(made)
        return made
    }

    /// Makes the authority last for another year.
    package func renewAuthority(now: Timestamp) throws -> LocalAuthority {
        let renewed = try makeAuthority(now: now).renewed(now: now.seconds)
        try keeper?.save(renewed)
        hold(renewed)
        return renewed
    }

    /// Forgets the authority, its key first of all: nothing is opened from now on.
    package func removeAuthority() throws {
        state.withLock { state in
            state.authority = nil
            state.context = nil
        }
        leaves.removeAll()
        try keeper?.remove()
    }

    /// Makes the authority if `settings` want one.
    package func prepare(for settings: Settings, now: Timestamp) throws {
        if authority == nil { try load() }
        if !settings.intercept.hosts.isEmpty { try makeAuthority(now: now) }
    }

    private func hold(_ authority: LocalAuthority) {
        CoreDumps.refuse()
        state.withLock { $0.authority = authority }
        leaves.removeAll()
    }

    /// How long before its end an authority is said to end.
    package static let notice = Duration.seconds(30 * 86_400)

    // MARK: Connections

    /// What a handshake in the name of `host` needs.
    func identity(
        for host: String, now: Timestamp
    ) async throws -> (context: TLSServerContext, leaf: LeafCertificate) {
        guard let authority else { throw IOError(.tlsFailed, operation: "open https", detail: "there is no local CA") }
        let context = try state.withLock { state in
            let context = try state.context ?? TLSServerContext()
            state.context = context
            return context
        }
        return (context, try await leaves.leaf(for: host, by: authority, now: now.seconds))
    }

    /// Why a host that is to be opened is not opened for a client; nil if it is.
    func exception(for key: RetreatTable.Key, now: Int64) -> TunnelReason? {
        state.withLock { state in
            if state.authority == nil { return .noCertificate }
            if state.demanding.contains(key.authority) { return .clientCertificate }
            return state.retreats.isRetreat(key, now: now) ? .refused : nil
        }
    }

    func opened(_ key: RetreatTable.Key) {
        state.withLock { state in
            state.opened += 1
            state.retreats.succeeded(key)
        }
    }

    /// Notes that a client's handshake failed. True if it is left alone from now on.
    func failed(_ error: IOError, of key: RetreatTable.Key, now: Int64, for duration: Duration) -> Bool {
        guard error.isCertificateRefusal || error.code == .connectionReset else { return false }
        return state.withLock {
            $0.retreats.failed(
                error.isCertificateRefusal ? .refusal : .silence, of: key, now: now, for: duration)
        }
    }

    /// An origin asked for a certificate of Larder's: only a client of its own may have one that counts there.
    package func noteRequest(by origin: Origin) {
        guard let authority = try? Authority(origin.authority, defaultPort: origin.port) else { return }
        state.withLock { state in
            if state.demanding.count < Interception.demandingLimit { state.demanding.insert(authority) }
        }
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
    /// Connections that were opened.
    package var opened: UInt64 { state.withLock { $0.opened } }
    /// Certificates that were made for hosts.
    package var leavesMade: Int { leaves.made }
}
