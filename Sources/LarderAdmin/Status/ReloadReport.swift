// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy

/// The state of reloads.
struct ReloadReport: Sendable {
    var latest: Reloading.Attempt?
    var accepted, refused: Int

    init(_ reloading: Reloading) {
        latest = reloading.latest
        (accepted, refused) = (reloading.accepted, reloading.refused)
    }

    var json: JSONValue {
        ["accepted": .integer(accepted), "refused": .integer(refused), "latest": latest?.json ?? .null]
    }

    func write(_ text: inout MetricsText) {
        text.counter(
            "larder_configuration_reloads", "Reloads of the configuration since the start, by what became of them.",
            [([("outcome", "accepted")], Double(accepted)), ([("outcome", "refused")], Double(refused))])
        text.gauge(
            "larder_configuration_refused",
            "Whether the last reload was refused, and an older configuration is in force.",
            latest?.isAccepted == false ? 1 : 0)
    }
}

extension Reloading.Attempt {
    var json: JSONValue {
        [
            "at": .time(at), "accepted": .bool(isAccepted), "file": file.map { .string($0) } ?? .null,
            "searched": .strings(searched),
            "problems": .strings(problems), "warnings": .strings(warnings), "takesRestart": .strings(waiting),
        ]
    }
}
