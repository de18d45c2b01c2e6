// SPDX-License-Identifier: Apache-2.0

import Larder
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

/// A daemon that somebody else may have started.
enum RunningDaemon {
    /// Others who listen there may say nothing.
    private static let patience = 2

    /// The version of the Larder that answers at `place`; nil where none does.
    static func version(at place: TCPPlace) -> String? {
        do {
            let stream = try PlainStream(to: place, seconds: patience)
            try stream.send("GET", "/-/status", ["Accept: application/json"])
            var response = try PlainResponse(on: stream)
            let answer = try response.answer(limit: 16 << 20)
            guard answer.status == 200 else { return nil }
            let status = try JSONValue(parsing: answer.content)
            guard status["hitRatio"] != nil, let version = status["version"]?.string else { return nil }
            return Outline.printable(version)
        } catch {
            return nil
        }
    }
}
