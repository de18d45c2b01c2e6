// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
package import LarderProxy
import LarderRules
import LarderSettings

/// Everything that Larder itself serves: the first page, and the paths under `/-/`, as `AdminRoute.all` lists them.
package struct AdminPages: OwnPages {
    private let history: History
    private let recent: RecentLines
    /// Threads for long searches, with a short queue.
    private let readers = WorkerPool(name: "larder-admin", threads: 2, queueLimit: 32)
    /// Operators do not wait for those who may only read.
    private let operators = WorkerPool(name: "larder-admin", threads: 1, queueLimit: 32)

    package init(history: History = History(), recent: RecentLines = RecentLines()) {
        self.history = history
        self.recent = recent
    }

    package func answer(_ request: OwnRequest, of proxy: Proxy) async -> OwnResponse {
        if let problem = AdminGuard(of: proxy).refusal(of: request) { return OwnResponse(problem, for: request) }
        let routes = AdminRoute.routes(at: request.path)
        guard !routes.isEmpty else { return OwnResponse(.nothingThere(request.path), for: request) }
        let allowed = AdminRoute.allowed(routes)
        if request.method == .options {
            return OwnResponse(status: 204, type: "text/plain; charset=utf-8", [], fields: ["Allow": allowed])
        }
        guard let route = routes.first(where: { $0.answers(request.method) }) else {
            return OwnResponse(.wrongMethod(request.method, allowed: allowed), for: request)
        }
        do {
            return try await route.answer(call(request, route, proxy))
        } catch let problem as Problem {
            return OwnResponse(problem, for: request)
        } catch {
            return OwnResponse(.failed(error), for: request)
        }
    }

    private func call(_ request: OwnRequest, _ route: AdminRoute, _ proxy: Proxy) throws(Problem) -> AdminCall {
        let guardian = AdminGuard(of: proxy)
        let mayChange = guardian.mayChange(request)
        return AdminCall(
            request: request, parameters: try AdminParameters(request, known: route.parameters),
            name: route.name(in: request.path), proxy: proxy, history: history, recent: recent,
            walkers: mayChange ? operators : readers, mayChange: mayChange,
            hasToken: guardian.token != nil)
    }

    package func isForUsers(_ request: OwnRequest, _ proxy: Proxy) -> Bool {
        AdminGuard(of: proxy).isForUsers(request)
    }

    /// Archives are received as they come, from those who may make changes.
    package func intake(of request: OwnRequest, _ proxy: Proxy) -> (any OwnIntake)? {
        guard
            let route = AdminRoute.routes(at: request.path).first(where: { $0.hasIntake && $0.answers(request.method) }
            ),
            AdminGuard(of: proxy).refusal(of: request) == nil
        else { return nil }
        return try? call(request, route, proxy).intake()
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
