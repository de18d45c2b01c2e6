// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderHTTP
import Testing

@testable import LarderAdmin

@Suite("The table of the admin surface")
struct AdminRouteTests {
    @Test func `each method of a path stands once, in the order of Allow`() {
        let order: [LarderHTTP.Method] = [.get, .post, .put, .delete]
        for (path, routes) in Dictionary(grouping: AdminRoute.all, by: \.path) {
            let places = routes.compactMap { order.firstIndex(of: $0.method) }
            #expect(places.count == routes.count, "\(path)")
            #expect(places == Array(Set(places)).sorted(), "\(path)")
        }
        #expect(AdminRoute.allowed(AdminRoute.routes(at: "/-/ca")) == "GET, HEAD, POST, DELETE, OPTIONS")
        #expect(AdminRoute.allowed(AdminRoute.routes(at: "/-/recordings/a")) == "GET, HEAD, PUT, DELETE, OPTIONS")
    }

    @Test func `every route that changes needs a permission, and all of its parameters are known`() {
        for route in AdminRoute.all {
            if route.method != .get { #expect([.change, .lanes].contains(route.permission), "\(route.path)") }
            if let name = route.changesWith { #expect(route.parameters?.contains(name) == true, "\(route.path)") }
            #expect(route.text.first?.isUppercase == true || route.text.first == "`", "\(route.path)")
        }
    }

    @Test func `what a path leaves open is any text behind its last slash`() {
        let routes = AdminRoute.routes(at: "/-/lanes/a/b")
        #expect(routes.map(\.method) == [.get, .delete])
        #expect(routes.first?.name(in: "/-/lanes/a/b") == "a/b")
        #expect(AdminRoute.routes(at: "/-/lanes").first?.name(in: "/-/lanes") == "")
        for path in ["/-", "/-/", "/-/assets", "/-/resource/", "/-/ca/", "/-/status/a"] {
            #expect(AdminRoute.routes(at: path).isEmpty, "\(path)")
        }
    }

    /// Writes the tables of the page anew where `LARDER_WRITE_GOLDEN` is set.
    @Test func `the tables of the committed page are those of the routes`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/api.md")
        var page = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(page.range(of: "\n## Reading\n")).upperBound
        let end = try #require(page.range(of: "\n## Details\n")).lowerBound
        let (reading, changing) = (AdminRouteTests.table(reading: true), AdminRouteTests.table(reading: false))
        let tables = "\n\(reading)\n## Changing\n\n\(changing)"
        if ProcessInfo.processInfo.environment["LARDER_WRITE_GOLDEN"] != nil {
            page.replaceSubrange(start..<end, with: tables)
            try page.write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(page[start..<end] == tables, "LARDER_WRITE_GOLDEN=1 with this test writes them anew")
        }
    }

    /// The table for the routes that read, or for all others.
    private static func table(reading: Bool) -> String {
        let rows = AdminRoute.all.filter { ($0.method == .get) == reading }.map { route in
            let request = reading ? route.path : "\(route.method) \(route.path)"
            let parameters = (route.parameters ?? []).map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(request)` | \(route.permission.rawValue) | \(parameters) | \(route.text) |"
        }
        let heading = reading ? ["| path | for | parameters | answers |"] : ["| request | for | parameters | does |"]
        return (heading + ["|---|---|---|---|"] + rows).joined(separator: "\n") + "\n"
    }
}
