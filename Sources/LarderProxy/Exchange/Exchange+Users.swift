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
        let digest = users.digest(of: credentials)
        if let user = users.user(of: digest, at: context.loop.time.monotonic()) { return user }
        let outcome = await context.proxy.passwords.check(
            digest, of: ClientAddress(stream.peerAddress), users.comparison(of: credentials))
        switch outcome {
        case .right:
            // Holds: only the password of a user in the table is right.
            guard let user = users.table.user(named: credentials.name) else { throw Problem.userUnknown(nil) }
            users.remember(user, by: digest, at: context.loop.time.monotonic())
            return user
        case .wrong, .lastWrong:
            noteWrong(credentials.name, isLast: outcome == .lastWrong)
            throw Problem.userUnknown(nil)
        case .tooOften(let wait): throw Problem.attemptLimit(seconds: (wait + 999_999_999) / 1_000_000_000)
        case .busy: throw Problem.passwordsBusy
        }
    }

    /// Names are in the log as they were sent; each client has few attempts.
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
