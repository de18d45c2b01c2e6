// SPDX-License-Identifier: Apache-2.0

import Larder

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
