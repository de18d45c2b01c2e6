// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// The local CA: its certificate for download, and the operations to create, renew and remove it, and to ask clients anew that refused it.
extension AdminPages {
    static func authorityPages(_ walkers: WorkerPool) -> [String: Page] {
        [
            "/-/ca.pem": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                guard let authority = proxy.interception.authority else { throw Problem.noAuthority }
                return OwnResponse(
                    type: "application/x-pem-file", authority.pem.utf8,
                    fields: ["Content-Disposition": "attachment; filename=\"larder-ca.pem\""])
            },
            "/-/ca/refusals": Page(methods: [.delete]) { request, proxy in
                _ = try AdminParameters(request, known: [])
                proxy.interception.forgetRefusals()
                return OwnResponse(json: ["retreats": .array([])])
            },
            "/-/ca": Page(methods: [.get, .head, .post, .delete]) { request, proxy in
                if request.method == .post {
                    let parameters = try AdminParameters(request, known: ["renew"])
                    let renews = try parameters.flag("renew")
                    let now = proxy.now
                    _ = try await walkers.run {
                        renews
                            ? try proxy.interception.renewAuthority(now: now)
                            : try proxy.interception.makeAuthority(now: now)
                    }
                } else {
                    _ = try AdminParameters(request, known: [])
                    if request.method == .delete {
                        try await walkers.run { try proxy.interception.removeAuthority() }
                    }
                }
                return OwnResponse(json: ["authority": InterceptionReport(of: proxy).json["authority"] ?? .null])
            },
        ]
    }
}

extension Problem {
    fileprivate static let noAuthority = Problem(
        status: 404, title: "No CA", proxyError: .httpRequestError,
        detail: "There is no local CA: nobody has asked for https to be cached.",
        advice: "Run `larder trust`, or name hosts in `intercept.hosts`.")
}
