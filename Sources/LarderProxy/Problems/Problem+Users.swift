// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

extension Problem {
    /// The challenge that Larder sends, both as a proxy and as the origin of its own pages.
    private static let challenge = #"Basic realm="Larder", charset="UTF-8""#

    /// The client is no user of `access.users`.
    ///
    /// - Parameter refusal: why it has no credentials; nil where they are wrong.
    static func userUnknown(_ refusal: BasicCredentials.Refusal?) -> Problem {
        Problem(
            status: 407, title: "Proxy authentication required", proxyError: .httpRequestDenied,
            detail: refusal?.detail ?? "There is no such user, or the password is wrong.",
            advice: "Put name and password into the proxy's URL, as http://NAME:PASSWORD@HOST:PORT, or send "
                + "Proxy-Authorization. `larder user add` makes users of `access.users`, which count after `larder reload`.",
            fields: ["Proxy-Authenticate": challenge])
    }

    /// The client is of a lane that is over: of a command that has ended, or began before Larder was started.
    static let laneUnknown = Problem(
        status: 407, title: "Proxy authentication required", proxyError: .httpRequestDenied,
        detail: "The lane that the request names is not open, or not for this client, or its "
            + "`Proxy-Authorization` cannot be read. Larder does not know what was asked of the lane, such as "
            + "`--offline` or `--replay`.",
        advice:
            "Run the command again with `larder run`, or `eval \"$(larder env --lane)\"` in its shell. Lanes end "
            + "with the daemon, and are for clients on its machine.",
        fields: ["Proxy-Authenticate": challenge])

    /// The client is no user, and asks for a page that shows what users do.
    static let pageForUsers = Problem(
        status: 401, title: "Authentication required", proxyError: .httpRequestDenied,
        detail: "With `access.users`, this page of Larder's own is for its users, and for the `larder` command of "
            + "whoever may use its socket.",
        advice: "Give name and password of a user, as `curl --user NAME` and "
            + "`larder --url http://NAME:PASSWORD@HOST:PORT` do, or use the daemon's socket.",
        fields: ["WWW-Authenticate": challenge])

    /// The user that a connection was opened for is none any more.
    static let userGone = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "This connection's user is not in `access.users` any more, or has another password.",
        advice: "Connect again.", closes: true)

    /// A client has tried too many wrong passwords, of one name or of many.
    static func attemptLimit(nanoseconds: Int64) -> Problem {
        Problem(
            status: 429, title: "Too many wrong passwords", proxyError: .httpRequestDenied,
            detail: "Too many passwords from this address were wrong, for this name or in all.",
            advice: "Correct them, and wait. Connections on which a password was right go on working.",
            fields: ["Retry-After": "\(Duration.nanoseconds(nanoseconds).secondsRoundedUp)"])
    }

    /// Too many passwords of other clients wait to be compared.
    static let passwordsBusy = Problem(
        status: 503, title: "Too many clients", proxyError: .connectionLimitReached,
        detail: "Too many clients say at once who they are.", advice: "Send the request again in a moment.",
        fields: ["Retry-After": "1"])
}

extension BasicCredentials.Refusal {
    fileprivate var detail: String {
        switch self {
        case .missing: "Larder serves its users only, and the request has no Proxy-Authorization."
        case .repeated: "The request has more than one Proxy-Authorization."
        case .otherScheme: "Proxy-Authorization is of another scheme than Basic."
        case .tooLong: "Name and password in Proxy-Authorization are too long."
        case .notBase64: "Proxy-Authorization has no base64 behind Basic."
        case .notText: "Name and password in Proxy-Authorization are not UTF-8, or contain control characters."
        case .withoutColon: "There is no colon between name and password in Proxy-Authorization."
        }
    }
}
