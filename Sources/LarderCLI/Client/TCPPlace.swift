// SPDX-License-Identifier: Apache-2.0

/// Where a daemon is reached over TCP: for what only reads, by users whose the Unix socket is not.
struct TCPPlace: Equatable {
    let host: String
    let port: UInt16

    static let usual = TCPPlace(host: "localhost", port: 3128)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `http://localhost:3128`, `localhost:3128` or `localhost`.
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

    /// As a request's `Host` has it.
    var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}
