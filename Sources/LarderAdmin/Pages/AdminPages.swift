// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
package import LarderProxy
import LarderRules
import LarderSettings

/// Everything that Larder itself serves: the first page, and the paths under `/-/`.
package struct AdminPages: OwnPages {
    /// One path: its methods, and its handler.
    struct Page {
        var methods: [Method]
        var answer: @Sendable (OwnRequest, Proxy) async throws -> OwnResponse

        static func reading(_ answer: @escaping @Sendable (OwnRequest, Proxy) async throws -> OwnResponse) -> Page {
            Page(methods: [.get, .head], answer: answer)
        }

        static func changing(_ answer: @escaping @Sendable (OwnRequest, Proxy) async throws -> OwnResponse) -> Page {
            Page(methods: [.post], answer: answer)
        }
    }

    /// The pages, and threads for their long searches, with a short queue.
    private struct Desk {
        let pages: [String: Page]
        let walkers: WorkerPool

        func page(_ path: String) -> Page? {
            pages[path] ?? AdminPages.variablePage(path) ?? AdminPages.lanePage(path, walkers)
                ?? AdminPages.recordingPage(path, walkers)
        }
    }

    private let readers: Desk
    /// Operators do not wait for those who may only read.
    private let operators: Desk

    package init(history: History = History(), recent: RecentLines = RecentLines()) {
        readers = AdminPages.desk(history, recent, threads: 2)
        operators = AdminPages.desk(history, recent, threads: 1)
    }

    private static func desk(_ history: History, _ recent: RecentLines, threads: Int) -> Desk {
        let walkers = WorkerPool(name: "larder-admin", threads: threads, queueLimit: 32)
        let pages = AdminPages.statusPages(history).merging(AdminPages.resourcePages(walkers)) { page, _ in page }
            .merging(AdminPages.offlinePages) { page, _ in page }
            .merging(AdminPages.overridePages) { page, _ in page }
            .merging(AdminPages.eventPages(walkers)) { page, _ in page }
            .merging(AdminPages.resolvePages) { page, _ in page }
            .merging(AdminPages.authorityPages(walkers)) { page, _ in page }
            .merging(AdminPages.requestPages(walkers)) { page, _ in page }
            .merging(AdminPages.historyPages(history)) { page, _ in page }
            .merging(AdminPages.contentPages(walkers)) { page, _ in page }
            .merging(AdminPages.versionPages) { page, _ in page }
            .merging(AdminPages.reloadPages) { page, _ in page }
            .merging(AdminPages.archivePages) { page, _ in page }
            .merging(AdminPages.pinPages) { page, _ in page }
            .merging(AdminPages.supportPages(recent)) { page, _ in page }
            .merging(FirstPage.assets.mapValues { file in .reading { _, _ in FirstPage.file(file) } }) { page, _ in page
            }
        return Desk(pages: pages, walkers: walkers)
    }

    package func answer(_ request: OwnRequest, of proxy: Proxy) async -> OwnResponse {
        let guardian = AdminGuard(of: proxy)
        if case .refused(let problem) = guardian.judge(request) { return OwnResponse(problem, for: request) }
        guard let page = (guardian.mayChange(request) ? operators : readers).page(request.path) else {
            return OwnResponse(.nothingThere(request.path), for: request)
        }
        let allowed = (page.methods + [.options]).map(\.token).joined(separator: ", ")
        if request.method == .options {
            return OwnResponse(status: 204, type: "text/plain; charset=utf-8", [], fields: ["Allow": allowed])
        }
        guard page.methods.contains(request.method) else {
            return OwnResponse(.wrongMethod(request.method, allowed: allowed), for: request)
        }
        do {
            return try await page.answer(request, proxy)
        } catch let problem as Problem {
            return OwnResponse(problem, for: request)
        } catch {
            return OwnResponse(.failed(error), for: request)
        }
    }

    package func isForUsers(_ request: OwnRequest, _ proxy: Proxy) -> Bool {
        AdminGuard(of: proxy).isForUsers(request)
    }

    /// Everybody may read how much was asked for; where clients say who they are, their hosts are not for everybody.
    private static func status(_ request: OwnRequest, _ proxy: Proxy) async -> StatusReport {
        let report = await StatusReport(of: proxy)
        guard proxy.configuration.settings.access.users != nil, !mayChange(request, proxy) else { return report }
        return report.leavingOutVisits(but: proxy.configuration.router.table)
    }

    private static func statusPages(_ history: History) -> [String: Page] {
        [
            "/-/permission": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                let guardian = AdminGuard(of: proxy)
                return OwnResponse(json: [
                    "mayChange": .bool(guardian.mayChange(request)), "hasToken": .bool(guardian.token != nil),
                ])
            },
            "/": .reading { request, proxy in FirstPage.answer(request, proxy) },
            "/-/health": .reading { request, _ in
                _ = try AdminParameters(request, known: [])
                return OwnResponse(text: "healthy\n")
            },
            "/-/ready": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                guard proxy.phase == .serving else { throw Problem.notReady }
                return OwnResponse(text: "ready\n")
            },
            "/-/status": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                var report = await status(request, proxy)
                report.allTime = history.allTime(proxy)
                return OwnResponse(json: report.json)
            },
            "/-/explain": .reading { request, proxy in
                let explanation = try await Explanation(of: request, proxy)
                let type = AcceptedType.preferred(by: request.fields, inOrder: [.json, .text])
                return type == .text ? OwnResponse(text: explanation.text) : OwnResponse(json: explanation.json)
            },
            "/-/metrics": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                let type = AcceptedType.preferred(by: request.fields, inOrder: [.openMetrics, .text])
                let metrics = await status(request, proxy).metrics(isOpenMetrics: type == .openMetrics)
                return OwnResponse(type: metrics.mediaType, metrics.text.utf8)
            },
        ]
    }
}

extension Problem {
    static func nothingThere(_ path: String) -> Problem {
        Problem(
            status: 404, title: "Not found", proxyError: .httpRequestError,
            detail: "There is nothing at \(path.prefix(200)).", advice: "Look at / for what there is.")
    }

    static func wrongMethod(_ method: Method, allowed: String) -> Problem {
        Problem(
            status: 405, title: "Method not allowed", proxyError: .httpRequestError,
            detail: "\(method) has no meaning here.", advice: "Use one of \(allowed).",
            fields: ["Allow": allowed])
    }

    static let notReady = Problem(
        status: 503, title: "Not ready", proxyError: .destinationUnavailable,
        detail: "Larder is starting or stopping.", advice: "Ask again in a moment.",
        fields: ["Retry-After": "1"])

    static func failed(_ error: any Error) -> Problem {
        if let error = error as? IOError, error.code == .overloaded {
            return Problem(
                status: 503, title: "Too busy", proxyError: .connectionLimitReached,
                detail: "Too many questions of this kind are being answered.", advice: "Ask again in a moment.")
        }
        if error is StoreUnavailable {
            return Problem(
                status: 503, title: "Not all could be read", proxyError: .proxyInternalError,
                detail: "The store cannot read at the moment: this was not done, or not for all that it is about.",
                advice: "Repeat it. Larder's log says why the store could not read.")
        }
        if let problem = notSaved(error) { return problem }
        return Problem(
            status: 500, title: "Internal error", proxyError: .proxyInternalError, detail: "\(error)",
            advice: "Look into Larder's log.")
    }
}
