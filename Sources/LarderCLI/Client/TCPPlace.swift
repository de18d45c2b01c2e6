// SPDX-License-Identifier: Apache-2.0

import LarderUpstream

/// The TCP address of a daemon, which is a proxy: for reading, by users without access to the Unix socket.
typealias TCPPlace = ParentAddress

extension TCPPlace {
    static let usual = TCPPlace(host: "localhost", port: 3128)

    /// Parses `http://localhost:3128`, `localhost:3128` or `localhost`, with `NAME:PASSWORD@` before the host for a
    /// daemon with users.
    init?(daemon text: String) {
        guard let place = try? TCPPlace(reading: text, needsScheme: false, defaultPort: 3128) else { return nil }
        self = place
    }
}
