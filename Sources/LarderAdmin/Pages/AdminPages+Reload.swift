// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// `POST /-/reload`: reloads the configuration, and reports the outcome.
extension AdminPages {
    static var reloadPages: [String: Page] {
        [
            "/-/reload": Page(methods: [.get, .head, .post]) { request, proxy in
                _ = try AdminParameters(request, known: [])
                guard request.method == .post else { return OwnResponse(json: ReloadReport(proxy.reloading).json) }
                guard let attempt = await proxy.reloading.reload() else { throw Problem.nothingToReload }
                return OwnResponse(json: attempt.json)
            }
        ]
    }
}

extension Problem {
    fileprivate static let nothingToReload = Problem(
        status: 501, title: "Not implemented", proxyError: .httpRequestError,
        detail: "This program does not read its configuration again.", advice: "Restart it.")
}
