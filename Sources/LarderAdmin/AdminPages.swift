// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderHTTP
package import LarderProxy
import LarderRules

/// Everything Larder answers as itself: the first page, and what is under `/-/`.
package struct AdminPages: OwnPages {
    package init() {}

    package func answer(_ request: OwnRequest, of proxy: Proxy) async -> OwnResponse {
        let guardian = AdminGuard(token: proxy.configuration.settings.admin.token)
        if case .refused(let problem) = guardian.judge(request) { return OwnResponse(problem, for: request) }
        switch (request.path, isRead(request)) {
        case ("/-/health", true): return text("healthy\n")
        case ("/-/ready", true): return text("ready\n")
        case ("/-/status", true):
            return OwnResponse(type: "application/json", StatusReport(of: proxy, version: LarderVersion.current).json())
        default:
            return OwnResponse(
                Problem(
                    status: 404, title: "Not found", proxyError: .httpRequestError,
                    detail: "There is nothing at \(request.path.prefix(200)).", advice: "Look at http://localhost/ for what there is."),
                for: request)
        }
    }

    private func isRead(_ request: OwnRequest) -> Bool { request.method == .get || request.method == .head }

    private func text(_ text: String) -> OwnResponse { OwnResponse(type: "text/plain; charset=utf-8", text.utf8) }
}
