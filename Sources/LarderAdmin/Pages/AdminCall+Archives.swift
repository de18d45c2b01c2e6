// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy
import LarderRules

/// `/-/export` and `/-/import`: stored responses as a tar archive.
extension AdminCall {
    func export() throws -> OwnResponse {
        let pattern = try parameters.required("match")
        let filter = try filter()
        guard let diskTier = proxy.diskTier else { throw Problem.nothingOnDisk }
        var response = OwnResponse(
            type: "application/x-tar", [],
            fields: ["Content-Disposition": "attachment; filename=\"larder-export.tar\""])
        response.source = EntityExport(
            proxy: proxy, diskTier: diskTier, match: filter.match, pattern: pattern,
            includesPrivate: try parameters.flag("private"))
        return response
    }

    /// The content has been received already: `intake()`.
    func importArchive() async throws -> OwnResponse {
        _ = try parameters.flag("private")
        guard proxy.diskTier != nil else { throw Problem.nothingOnDisk }
        guard let intake = request.intake as? EntityImport else { throw Problem.noArchive("it is empty") }
        return OwnResponse(json: try await intake.report())
    }

    /// Receives an archive of any length as it comes.
    func intake() -> EntityImport? {
        guard proxy.diskTier != nil, let includesPrivate = try? parameters.flag("private") else { return nil }
        return EntityImport(proxy: proxy, includesPrivate: includesPrivate)
    }
}

extension Problem {
    static let nothingOnDisk = Problem(
        status: 409, title: "Nothing on disk", proxyError: .proxyConfigurationError,
        detail: "This Larder keeps everything in memory alone.", advice: "Give it a directory with `cache.path`.")
}
