// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings

/// `/-/support`: the facts about this daemon that `larder support` writes into its file, beside the status.
extension AdminCall {
    func support() throws -> OwnResponse {
        let settings = SettingsCatalogue.show(proxy.configuration.settings).json
        return OwnResponse(json: [
            "version": .string(LarderVersion.description), "settings": try JSONValue(parsing: Array(settings.utf8)),
            "log": .strings(recent.all),
        ])
    }
}

/// The latest warnings and errors of the daemon's log, for `larder support`.
package final class RecentLines: Sendable {
    /// The most lines that are kept, and the most characters of each.
    package static let limit = (lines: 50, characters: 1_000)

    private let lines = Lock<[String]>([])

    package init() {}

    /// Adds a line, in place of the oldest if there are enough.
    package func add(_ line: String) {
        lines.withLock { lines in
            if lines.count == RecentLines.limit.lines { lines.removeFirst() }
            lines.append(String(line.prefix(RecentLines.limit.characters)))
        }
    }

    /// The lines, the oldest first.
    package var all: [String] { lines.withLock { $0 } }
}
