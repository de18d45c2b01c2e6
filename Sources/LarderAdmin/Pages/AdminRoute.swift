// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy

/// One request that the admin surface answers: its method and path, who may send it, its parameters, what docs/api.md
/// says of it, and the function that answers it. `AdminRoute.all` is the whole surface: dispatch, `AdminGuard`, statuses
/// 404 and 405, and the tables of docs/api.md are made from it.
struct AdminRoute: Sendable {
    /// The clients that may send a request, by the word for it in docs/api.md. All but `anyone` have to be on this
    /// machine, or ask a listener for the admin surface alone.
    enum Permission: String, CaseIterable {
        /// Every client that is served.
        case anyone
        /// Clients that may read; no user is asked for, since the answer contains nothing about clients or content.
        case open
        /// Clients that may read, and where there are users, users alone (`access.users`).
        case read
        /// Clients of the socket for lanes, and clients that may make changes.
        case lanes
        /// Clients of the Unix socket, and clients with the admin token.
        case change
    }

    let method: Method
    /// The path. A last component in capitals is a placeholder for any text.
    let path: String
    let permission: Permission
    /// The names of the parameters; nil if it takes any and looks at none.
    let parameters: [String]?
    /// The parameter that makes `change` the permission if it is given and not `0`.
    let changesWith: String?
    /// True if `AdminCall.intake` receives the content.
    let hasIntake: Bool
    /// The description in docs/api.md.
    let text: String
    let answer: @Sendable (AdminCall) async throws -> OwnResponse

    init(
        _ method: Method, _ path: String, _ permission: Permission, with parameters: [String]? = [],
        changesWith: String? = nil, hasIntake: Bool = false, _ text: String,
        answer: @escaping @Sendable (AdminCall) async throws -> OwnResponse
    ) {
        (self.method, self.path, self.permission, self.parameters) = (method, path, permission, parameters)
        (self.changesWith, self.hasIntake, self.text, self.answer) = (changesWith, hasIntake, text, answer)
    }

    /// The routes at a path, one for each of its methods.
    static func routes(at path: String) -> [AdminRoute] {
        all.filter { $0.path == path || $0.prefix.map(path.hasPrefix) ?? false }
    }

    /// The part of the path before a last component in capitals; nil if it has none.
    private var prefix: String? {
        guard let slash = path.lastIndex(of: "/"), let first = path[slash...].dropFirst().first, first.isUppercase
        else { return nil }
        return String(path[...slash])
    }

    /// The text at the placeholder in a path of this route; empty if the route has no placeholder.
    func name(in path: String) -> String { prefix.map { String(path.dropFirst($0.count)) } ?? "" }

    func answers(_ method: Method) -> Bool { method == self.method || method == .head && self.method == .get }

    /// The value of `Allow` for a path with these routes.
    static func allowed(_ routes: [AdminRoute]) -> String {
        (routes.flatMap { $0.method == .get ? ["GET", "HEAD"] : [$0.method.token] } + ["OPTIONS"])
            .joined(separator: ", ")
    }

    /// The permission that a request needs. If its path does not have its method, the permission of another method of
    /// the path counts: of a safe method for a safe request, else of an unsafe method.
    static func permission(for request: OwnRequest) -> Permission {
        let routes = AdminRoute.routes(at: request.path)
        let isSafe = request.method.isSafe
        guard
            let route = routes.first(where: { $0.answers(request.method) })
                ?? routes.first(where: { $0.method.isSafe == isSafe })
        else { return isSafe ? .read : .change }
        guard let value = route.changesWith.flatMap(request.parameter), value != "0" else { return route.permission }
        return .change
    }
}
