// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A proxy between us and the origins.
package struct ParentAddress: Hashable, Sendable {
    /// A name in lower case, or an address, an IPv6 address without brackets.
    package let host: String
    package let port: UInt16
    /// The value of `Proxy-Authorization`, if the proxy requires it.
    package let authorization: String?

    package init(host: String, port: UInt16, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }

    package enum Failure: Error, Equatable {
        case scheme(String)
        case form
    }

    /// Reads `http://[user:password@]host[:port][/]`. The scheme may be missing, as often in `http_proxy`, when
    /// `needsScheme` is false.
    package init(reading text: String, needsScheme: Bool = true, defaultPort: UInt16 = 80) throws(Failure) {
        var rest = text[...]
        if let mark = text.firstRange(of: "://") {
            let scheme = text[..<mark.lowerBound].lowercased()
            guard scheme == "http" else { throw .scheme(scheme) }
            rest = text[mark.upperBound...]
        } else if needsScheme {
            throw .form
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var authorization: String?
        if let at = rest.lastIndex(of: "@") {
            authorization = "Basic " + Base64Text.encoded(PercentText.octets(of: rest[..<at].utf8, isForm: false))
            rest = rest[rest.index(after: at)...]
        }
        if rest.hasSuffix(":") { rest = rest.dropLast() }
        let port = rest.hasSuffix("]") || !rest.contains(":") ? ":\(defaultPort)" : ""
        guard !rest.utf8.contains(where: { "/?#".utf8.contains($0) }),
            let uri = try? TargetURI("http://\(rest)\(port)/")
        else {
            throw .form
        }
        self.init(host: uri.host.withoutBrackets, port: uri.port, authorization: authorization)
    }

    /// Host and port, as in a request's `Host`.
    package var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Without the credentials, so it may be shown.
    package var url: String { "http://\(authority)" }
}

extension ParentAddress: CustomStringConvertible {
    /// Without the credentials, so it may be logged.
    package var description: String { "the parent proxy \(host):\(port)" }
}
