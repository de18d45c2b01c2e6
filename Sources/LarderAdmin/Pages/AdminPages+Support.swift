// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderSettings

/// `/-/support`: the facts about this daemon that `larder support` writes into its file, beside the status.
extension AdminPages {
    static func supportPages(_ recent: RecentLines) -> [String: Page] {
        [
            "/-/support": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                let settings = SettingsCatalogue.show(proxy.configuration.settings).json
                return OwnResponse(json: [
                    "version": .string(LarderVersion.description),
                    "settings": try JSONValue(parsing: Array(settings.utf8)),
                    "log": .strings(recent.all),
                ])
            }
        ]
    }
}
