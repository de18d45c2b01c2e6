// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderUpstream

/// `/-/offline`: whether origins are asked, and how to change it while the daemon runs.
extension AdminPages {
    static var offlinePages: [String: Page] {
        [
            "/-/offline": Page(methods: [.get, .head, .post]) { request, proxy in
                if request.method == .post {
                    let parameters = try AdminParameters(request, known: ["mode", "service"])
                    _ = try parameters.required("mode")
                    let modes = OfflineMode.allCases.map(\.rawValue) + ["configured"]
                    let mode = try parameters.choice("mode", of: modes, default: "configured")
                    let table = proxy.configuration.router.table
                    let names = table.all.map(\.name)
                    // A name in another case would be stored and never looked up.
                    let service = parameters.text("service")
                    if let service, !names.contains(service) {
                        throw Problem.unknownService(service, known: names)
                    }
                    proxy.goOffline(OfflineMode(rawValue: mode), service: service)
                } else {
                    _ = try AdminParameters(request, known: [])
                }
                return OwnResponse(json: OfflineReport(of: proxy).json)
            }
        ]
    }
}
