// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// The local CA: its certificate for download, and the operations to create, renew and remove it, and to try clients
/// again that refused it.
extension AdminCall {
    func showAuthority() -> OwnResponse {
        OwnResponse(json: ["authority": InterceptionReport(of: proxy).json["authority"] ?? .null])
    }

    /// The certificate of the local CA for download.
    func certificate() throws -> OwnResponse {
        guard let authority = proxy.interception.authority else { throw Problem.noAuthority }
        return OwnResponse(
            type: "application/x-pem-file", authority.pem.utf8,
            fields: ["Content-Disposition": "attachment; filename=\"larder-ca.pem\""])
    }

    /// Makes the local CA, or renews it.
    func makeAuthority() async throws -> OwnResponse {
        let renews = try parameters.flag("renew")
        let now = proxy.now
        _ = try await walkers.run {
            try renews ? proxy.interception.renewAuthority(now: now) : proxy.interception.makeAuthority(now: now)
        }
        return showAuthority()
    }

    func removeAuthority() async throws -> OwnResponse {
        try await walkers.run { try proxy.interception.removeAuthority() }
        return showAuthority()
    }

    /// Tries clients again that refused a certificate.
    func forgetRefusals() -> OwnResponse {
        proxy.interception.forgetRefusals()
        return OwnResponse(json: ["retreats": .array([])])
    }
}

extension Problem {
    fileprivate static let noAuthority = Problem(
        status: 404, title: "No CA", proxyError: .httpRequestError,
        detail: "There is no local CA: nobody has asked for https to be cached.",
        advice: "Run `larder trust`, or name hosts in `intercept.hosts`.")
}
