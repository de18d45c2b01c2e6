// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// Why the configuration gives a response no lifetime that may be one user's among many, and how to have it count
/// (`CachePolicy.personalField`).
enum ExplainedPersonality {
    /// The request carries a credential that is not part of the key.
    case credential(FieldName)
    /// The response sets a cookie.
    case cookie

    /// Nil where `field` tells of no user.
    init?(_ field: FieldName) {
        if field == .setCookie {
            self = .cookie
        } else if Credentials.isOne(field) {
            self = .credential(field)
        } else {
            return nil
        }
    }

    /// Nil for a stored response that a lifetime of the configuration counts for.
    init?(of stored: StoredResponse, askedBy fields: Fields) {
        guard stored.facts.isForOne else { return nil }
        guard stored.traces.contains(.credentialBesideKey) else {
            self = .cookie
            return
        }
        self = .credential(Credentials.first(in: fields) ?? "credentials")
    }

    /// How to have a lifetime of the configuration count.
    ///
    /// - Parameter lack: the origin's word that the others would need.
    func remedy(_ situation: Situation, where lack: String = "names no lifetime") -> String {
        let service = situation.service.name
        let isShared = situation.service.settings.privacy == .shared
        switch self {
        case .credential(let field):
            let apart =
                service == "-"
                ? "describe the API as a service with `privacy: partitioned`"
                : "set `privacy: partitioned` for the service"
            return "The request carries \(field), and the origin \(lack): the answer may be this user's alone, and no "
                + "`expirationTime` counts. If the origin sends everyone the same, "
                + SuggestedBlock(situation).adding("everyone: true")
                + " Else \(apart), or leave \(field) out of requests."
        case .cookie:
            return
                "The response sets a cookie, and the origin \(lack): it may be one user's alone, and no `expirationTime` counts. "
                + (isShared
                    ? "If the origin sends everyone the same, "
                        + SuggestedBlock(situation).adding("everyone: true, ignoreResponse: [set-cookie]")
                    : "To have it stored without the cookie: "
                        + SuggestedBlock(situation).adding("ignoreResponse: [set-cookie]"))
        }
    }
}
