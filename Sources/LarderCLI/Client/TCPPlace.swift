// SPDX-License-Identifier: Apache-2.0

/// The TCP address of a daemon: for reading, by users without access to the Unix socket.
struct TCPPlace: Equatable {
    let host: String
    let port: UInt16

    static let usual = TCPPlace(host: "localhost", port: 3128)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `http://localhost:3128`, `localhost:3128` or `localhost`.
    init?(_ text: String) {
        var rest = text[...]
        if rest.hasPrefix("http://") { rest = rest.dropFirst(7) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, !rest.contains("/") else { return nil }
        let end = rest.last == "]" ? nil : rest.lastIndex(of: ":")
        guard let end else {
            self.init(host: TCPPlace.bare(rest), port: 3128)
            return
        }
        guard let port = UInt16(rest[end...].dropFirst()), !rest[..<end].isEmpty else { return nil }
        self.init(host: TCPPlace.bare(rest[..<end]), port: port)
    }

    private static func bare(_ host: Substring) -> String {
        String(host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host)
    }

    /// The value for a request's `Host`.
    var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}
