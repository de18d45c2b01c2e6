// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
package import LarderProxy
import LarderRules
import LarderSettings
import LarderStores

/// `/-/export` and `/-/import`: stored responses as a tar archive.
extension AdminPages {
    private static let importPath = "/-/import"

    static var archivePages: [String: Page] {
        [
            "/-/export": .reading { request, proxy in
                let parameters = try AdminParameters(request, known: ["match", "service", "private"])
                let pattern = try parameters.required("match")
                let filter = try filter(parameters, proxy)
                guard let diskTier = proxy.diskTier else { throw Problem.nothingOnDisk }
                var response = OwnResponse(
                    type: "application/x-tar", [],
                    fields: ["Content-Disposition": "attachment; filename=\"larder-export.tar\""])
                response.source = EntityExport(
                    proxy: proxy, diskTier: diskTier, match: filter.match, pattern: pattern,
                    includesPrivate: try parameters.flag("private"))
                return response
            },
            importPath: .changing { request, proxy in
                _ = try AdminParameters(request, known: ["private"]).flag("private")
                guard proxy.diskTier != nil else { throw Problem.nothingOnDisk }
                guard let intake = request.intake as? EntityImport else { throw Problem.noArchive("it is empty") }
                return OwnResponse(json: try await intake.report())
            },
        ]
    }

    /// Archives are taken as they come, from those who may change something.
    package func intake(of request: OwnRequest, _ proxy: Proxy) -> (any OwnIntake)? {
        let guardian = AdminGuard(of: proxy)
        guard request.path == AdminPages.importPath, request.method == .post, guardian.judge(request) == .allowed,
            proxy.diskTier != nil,
            let includesPrivate = try? AdminParameters(request, known: ["private"]).flag("private")
        else { return nil }
        return EntityImport(proxy: proxy, includesPrivate: includesPrivate)
    }
}

extension Problem {
    static let nothingOnDisk = Problem(
        status: 409, title: "Nothing on disk", proxyError: .proxyConfigurationError,
        detail: "This Larder keeps everything in memory alone.", advice: "Give it a directory with `cache.path`.")
}
