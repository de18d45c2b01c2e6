// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderUpstream

/// Which services ask their origins at the moment, and by whose choice.
struct OfflineReport: Sendable {
    struct Line: Sendable {
        var name: String
        var mode: OfflineMode
        var configured: OfflineMode
        /// True if it does not ask its origin at the moment.
        var isOffline: Bool
    }

    /// The choice for all services while the daemon runs.
    var chosen: OfflineMode?
    var configured: OfflineMode
    var isNetworkLost: Bool
    var lines: [Line]

    init(of proxy: Proxy) {
        let choices = proxy.offline.choices
        chosen = choices.all
        configured = proxy.configuration.settings.offline
        isNetworkLost = proxy.origins.isNetworkLost
        let table = proxy.configuration.router.table
        lines = table.all.map { service in
            let configured = service.settings.offline ?? .off
            let mode = proxy.offline.mode(of: service.name, configured: configured)
            let isOutOfReach = service.base.map { proxy.isOutOfReach($0, service) } ?? proxy.origins.isNetworkLost
            return Line(
                name: service.name, mode: mode, configured: configured,
                isOffline: mode == .on || mode == .auto && isOutOfReach)
        }
    }

    var json: JSONValue {
        [
            "mode": .string((chosen ?? configured).rawValue), "configured": .string(configured.rawValue),
            "chosen": chosen.map { .string($0.rawValue) } ?? .null, "networkLost": .bool(isNetworkLost),
            "services": .array(
                lines.map { line in
                    [
                        "name": .string(line.name), "mode": .string(line.mode.rawValue),
                        "configured": .string(line.configured.rawValue), "offline": .bool(line.isOffline),
                    ]
                }),
        ]
    }
}
