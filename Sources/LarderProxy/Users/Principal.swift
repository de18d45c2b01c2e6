// SPDX-License-Identifier: Apache-2.0

import LarderSettings
import LarderStores

/// The proven sender of a request.
enum Principal: Sendable, Equatable {
    /// The client was not asked for credentials.
    case anyone
    case user(UserTable.User)
    /// A client with a certificate of `tls.clientCA`.
    case certificate
    /// A command on this machine, whose lane was opened over a Unix socket.
    case lane

    /// The user's name.
    var name: String? { if case .user(let user) = self { user.name } else { nil } }
}

/// The credentials that were right on a connection: further requests with them do not count as attempts.
struct Proof: Sendable {
    let user: UserTable.User
    let credentials: ContentDigest
}

extension UserGate {
    /// True if clients that are this may use the proxy.
    func admits(_ principal: Principal) -> Bool {
        switch principal {
        case .anyone: false
        case .user(let user): table.holds(user)
        case .certificate, .lane: true
        }
    }
}
