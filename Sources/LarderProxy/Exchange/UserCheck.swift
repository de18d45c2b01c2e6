// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings
import LarderStores
import Logging

/// Identifies the client of a request among the users that `access.users` names. Confined to its loop.
struct UserCheck {
    private let request: ClientRequest
    private let connection: DownstreamConnection
    private let context: LoopContext

    init(of request: ClientRequest) {
        self.request = request
        connection = request.connection
        context = request.context
    }

    /// Identifies the client, where users are named. To be called before anything is looked up for it.
    ///
    /// - Returns: the user's name, if it is one.
    /// - Throws: a problem for a client that is no user.
    func admit() async throws -> String? {
        guard !connection.client.isAdminOnly else { return nil }
        guard !request.namesUnknownLane else { throw Problem.laneUnknown }
        request.principal = standing
        repeat {
            request.users = context.configuration.users
            guard let users = request.users else { return nil }
            if !users.admits(request.principal) { request.principal = .user(try await user(among: users)) }
            // Users may have been read again while a password was compared.
        } while context.configuration.users !== request.users
        if request.principal != .lane {
            // It was for Larder, and must not count as a credential for the origin.
            request.editHead { $0.fields.remove(.proxyAuthorization) }
            request.traits.presence.remove(.proxyAuthorization)
        }
        return request.principal.name
    }

    /// The client by its connection alone.
    private var standing: Principal {
        if request.lane != nil { return .lane }
        if connection.client.isProven { return .certificate }
        // A CONNECT said it for all requests inside.
        return connection.client.inside == nil ? .anyone : connection.principal ?? .anyone
    }

    private func user(among users: UserGate) async throws -> UserTable.User {
        // Inside, clients believe to speak with the origin, and must not be asked for a password.
        guard connection.client.inside == nil else { throw Problem.userGone }
        let credentials: BasicCredentials
        switch BasicCredentials.read(request.head.fields, .proxyAuthorization) {
        case .success(let read): credentials = read
        case .failure(let refusal): throw Problem.userUnknown(refusal)
        }
        return try await user(of: credentials, among: users)
    }

    /// The user of credentials that the request has.
    private func user(of credentials: BasicCredentials, among users: UserGate) async throws -> UserTable.User {
        let digest = users.digest(of: credentials)
        let passwords = context.proxy.passwords
        let now = context.loop.time.monotonic()
        // A client that has shown them on this connection knows them; from others, even a look-up is an attempt.
        if let proof = connection.proof, proof.credentials == digest, users.table.holds(proof.user) {
            _ = users.user(of: digest, at: now)
            return proof.user
        }
        let attempt = users.attempt(credentials, digest, of: ClientAddress(request.stream.peerAddress))
        if let wait = passwords.wait(of: attempt, at: now) { throw Problem.attemptLimit(nanoseconds: wait) }
        if let remembered = users.user(of: digest, at: now) {
            connection.proof = Proof(user: remembered, credentials: digest)
            return remembered
        }
        let outcome = await passwords.check(attempt, users.comparison(of: credentials))
        switch outcome {
        case .right:
            // Holds: only the password of a user in the table is right.
            guard let user = users.table.user(named: credentials.name) else { throw Problem.userUnknown(nil) }
            users.remember(user, by: digest, at: context.loop.time.monotonic())
            connection.proof = Proof(user: user, credentials: digest)
            return user
        case .wrong, .lastWrong:
            noteWrong(credentials.name, isLast: outcome == .lastWrong)
            throw Problem.userUnknown(nil)
        case .knownWrong: throw Problem.userUnknown(nil)
        case .tooOften(let wait): throw Problem.attemptLimit(nanoseconds: wait)
        case .busy: throw Problem.passwordsBusy
        }
    }

    /// Identifies the client for pages of Larder's own that show users' requests. Here Larder is the origin, so credentials
    /// are in `Authorization`; those for the proxy count too, as programs send them by themselves.
    ///
    /// - Returns: the user's name; nil where users are not named, or the client has a certificate.
    func admitToOwnPages() async throws -> String? {
        guard !connection.client.isProven else { return nil }
        let fields = request.head.fields
        let isProxied = request.lane == nil && fields.contains(.proxyAuthorization)
        let credentials: BasicCredentials
        switch BasicCredentials.read(fields, isProxied ? .proxyAuthorization : .authorization) {
        case .success(let read): credentials = read
        case .failure: throw Problem.pageForUsers
        }
        var asked: UserGate?
        repeat {
            asked = context.configuration.users
            guard let asked else { return nil }
            do {
                request.principal = .user(try await user(of: credentials, among: asked))
            } catch let problem as Problem where problem.status == 407 {
                throw Problem.pageForUsers
            }
            // Users may have been read again while a password was compared.
        } while context.configuration.users !== asked
        return request.principal.name
    }

    /// Names are in the log as they were sent, once for each wrong password: each client has few attempts.
    private func noteWrong(_ name: String, isLast: Bool) {
        context.proxy.logger.notice(
            "a client gave a wrong name or password",
            metadata: [
                "client": "\(request.stream.peerAddress.host)", "user": "\(name.prefix(64))",
                "next": isLast ? "its attempts are refused for a while" : "it may try again",
            ])
    }
}
