// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings
import LarderStores
import Logging

extension Exchange {
    /// Finds out who the client is, where `access.users` asks for it. To be called before anything is looked up for it.
    ///
    /// - Throws: a problem for whoever is nobody.
    func admit() async throws {
        guard !connection.client.isAdminOnly else { return }
        principal = standing
        repeat {
            users = context.configuration.users
            guard let users else { return }
            if !users.admits(principal) { principal = .user(try await user(among: users)) }
            // Users may have been read again while a password was compared.
        } while context.configuration.users !== users
        record.user = principal.name
        if principal != .lane {
            // It was for Larder, and must not count as a credential for the origin.
            head.fields.remove(.proxyAuthorization)
            traits.presence.remove(.proxyAuthorization)
        }
    }

    /// Who the client is by its connection.
    private var standing: Principal {
        if lane != nil { return .lane }
        if connection.client.isProven { return .certificate }
        // A CONNECT said it for all requests inside.
        return connection.client.inside == nil ? .anyone : connection.principal ?? .anyone
    }

    private func user(among users: UserGate) async throws -> UserTable.User {
        // Inside, clients believe to speak with the origin, and must not be asked for a password.
        guard connection.client.inside == nil else { throw Problem.userGone }
        let credentials: BasicCredentials
        switch BasicCredentials.read(head.fields, .proxyAuthorization) {
        case .success(let read): credentials = read
        case .failure(let refusal): throw Problem.userUnknown(refusal)
        }
        return try await user(of: credentials, among: users)
    }

    /// The user of credentials that the request has.
    func user(of credentials: BasicCredentials, among users: UserGate) async throws -> UserTable.User {
        let digest = users.digest(of: credentials)
        let passwords = context.proxy.passwords
        let now = context.loop.time.monotonic()
        // Who has shown them on this connection knows them; from others, even a look-up is an attempt.
        if let proof = connection.proof, proof.credentials == digest, users.table.holds(proof.user) {
            _ = users.user(of: digest, at: now)
            return proof.user
        }
        let attempt = users.attempt(credentials, digest, of: ClientAddress(stream.peerAddress))
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

    /// Finds out whether the client is a user, for pages of Larder's own that show what users do. Here Larder is the
    /// origin, so credentials are in `Authorization`; those for the proxy count too, as programs send them by themselves.
    func admitToOwnPages() async throws {
        guard !connection.client.isProven else { return }
        let isProxied = lane == nil && head.fields.contains(.proxyAuthorization)
        let credentials: BasicCredentials
        switch BasicCredentials.read(head.fields, isProxied ? .proxyAuthorization : .authorization) {
        case .success(let read): credentials = read
        case .failure: throw Problem.pageForUsers
        }
        var asked: UserGate?
        repeat {
            asked = context.configuration.users
            guard let asked else { return }
            do {
                record.user = try await user(of: credentials, among: asked).name
            } catch let problem as Problem where problem.status == 407 {
                throw Problem.pageForUsers
            }
            // Users may have been read again while a password was compared.
        } while context.configuration.users !== asked
    }

    /// Names are in the log as they were sent, once for each wrong password: each client has few attempts.
    private func noteWrong(_ name: String, isLast: Bool) {
        context.proxy.logger.notice(
            "a client gave a wrong name or password",
            metadata: [
                "client": "\(stream.peerAddress.host)", "user": "\(name.prefix(64))",
                "next": isLast ? "its attempts are refused for a while" : "it may try again",
            ])
    }

    /// Has all of the connection be of this exchange's client while it is a tunnel, and inside of what is opened.
    func hold(_ body: () async throws -> Void) async throws {
        connection.principal = principal
        do {
            try await body()
        } catch {
            // Without a tunnel, the next request says anew who it is from.
            if connection.client.inside == nil { connection.principal = nil }
            throw error
        }
    }
}
