// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy

/// A request that `AdminGuard` allowed and `AdminRoute` matched, with the inputs of its response. Extensions contain
/// the functions that answer, each beside the report that it shows.
struct AdminCall: Sendable {
    let request: OwnRequest
    /// The query parameters; the route defines their names.
    let parameters: AdminParameters
    /// The variable end of the path, if the route has one; else empty.
    let name: String
    let proxy: Proxy
    let history: History
    let recent: RecentLines
    /// Threads for long searches and for files, with a short queue.
    let walkers: WorkerPool
    /// True if the request has the permission for changes.
    let mayChange: Bool
    /// True if there is an admin token.
    let hasToken: Bool

    var network: ClientNetwork { ClientNetwork(isLoopback: request.isLoopback) }
}

extension OwnResponse {
    init(text: String) { self.init(type: "text/plain; charset=utf-8", text.utf8) }

    init(json: JSONValue) { self.init(type: "application/json", json.pretty) }
}
