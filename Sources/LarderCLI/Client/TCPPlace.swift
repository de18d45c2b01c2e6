// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LarderHTTP

/// The TCP address of a daemon: for reading, by users without access to the Unix socket.
struct TCPPlace: Equatable {
    let host: String
    let port: UInt16
    /// The value for `Proxy-Authorization`, where the URL has a name and a password.
    let credentials: String?

    static let usual = TCPPlace(host: "localhost", port: 3128)

    init(host: String, port: UInt16, credentials: String? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// Parses `http://localhost:3128`, `localhost:3128` or `localhost`, with `NAME:PASSWORD@` before the host for a
    /// daemon with users.
    init?(_ text: String) {
        var rest = text[...]
        if rest.hasPrefix("http://") { rest = rest.dropFirst(7) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, !rest.contains("/") else { return nil }
        var credentials: String?
        if let at = rest.lastIndex(of: "@") {
            credentials = "Basic \(Data(PercentText.octets(of: rest[..<at].utf8, isForm: false)).base64EncodedString())"
            rest = rest[at...].dropFirst()
            guard !rest.isEmpty else { return nil }
        }
        let end = rest.last == "]" ? nil : rest.lastIndex(of: ":")
        guard let end else {
            self.init(host: TCPPlace.bare(rest), port: 3128, credentials: credentials)
            return
        }
        guard let port = UInt16(rest[end...].dropFirst()), !rest[..<end].isEmpty else { return nil }
        self.init(host: TCPPlace.bare(rest[..<end]), port: port, credentials: credentials)
    }

    private static func bare(_ host: Substring) -> String {
        String(host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host)
    }

    /// The value for a request's `Host`.
    var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}
