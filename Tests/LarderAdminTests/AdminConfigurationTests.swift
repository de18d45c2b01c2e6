// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import Testing

/// The daemon's report of a resource's configuration, and where one gets from it.
@Suite("Showing configuration and navigation")
struct AdminConfigurationTests {
    static var blocks: [ConfigureBlock] {
        var all = ConfigureBlock()
        all.description = "a minute for everything"
        all.expirationTime = Expiration(time: .seconds(60))
        var users = ConfigureBlock()
        users.pattern.match = "/users/*"
        users.headers = [HeaderEdit(name: "X-Key", value: Secret("topsecret"))]
        var writes = ConfigureBlock()
        writes.description = "writes"
        writes.methods = [.post]
        writes.retryTime = .seconds(9)
        return [all, users, writes]
    }

    @Test func `CF-08 a resource's configuration is shown by method, with the block that each part comes from`()
        async throws
    {
        try await AdminFixture.run(configure: Self.blocks) { daemon throws in
            func shown(_ path: String, _ method: String) throws -> [String: [String]] {
                let answer = try daemon.get("/-/explain?url=\(path)&method=\(method)")
                #expect(!answer.content.contains("topsecret"))
                let blocks = try #require(try answer.json["blocks"]?.array)
                return blocks.reduce(into: [:]) { all, block in
                    let title = block["title"]?.string ?? block["block"]?.string ?? "?"
                    all[title] = block["changes"]?.array?.compactMap(\.string) ?? []
                }
            }
            let user = try shown("/api/users/a", "GET")
            #expect(
                user["a minute for everything"] == [
                    "expirationTime: 1 min where the origin names none (was as RFC 9111 says)"
                ])
            #expect(user["/users/*"] == ["headers.x-key: set"])
            #expect(user["writes"] == nil)
            let write = try shown("/api/users/a", "POST")
            #expect(write["writes"]?.first?.hasPrefix("retryTime: 9 s") == true)
            let other = try shown("/api/other", "GET")
            #expect(other["a minute for everything"] != nil)
            #expect(other["/users/*"] == nil)

            _ = try daemon.get("/api/users/a")
            let blocks = try daemon.get("/-/resources?url=/api/users/a").json["blocks"]?.array?.compactMap(\.string)
            #expect(blocks?.suffix(2) == ["a minute for everything", "/users/*"])
        }
    }

    @Test(arguments: [
        ("url=/api/users&child=octocat", "/api/users/octocat"), ("url=/api/users/&child=/a", "/api/users/a"),
        ("url=/api/users&child=a%20b%3Fc", "/api/users/a%20b%3Fc"), ("url=/api/a?x=1&child=b", "/api/a/b?x=1"),
        ("url=/api/users/a&relative=b", "/api/users/b"), ("url=/api/users/a&relative=../x?y=z", "/api/x?y=z"),
        ("url=/api/users/a&relative=%2Felsewhere", "/elsewhere"),
        ("url=/api/users?b=2&param=a=1&param=c=", "/api/users?a=1&b=2&c"), ("url=/api/users?b=2&param=b", "/api/users"),
        ("url=/api/users&child=a&param=x=y", "/api/users/a?x=y"), ("url=/api/users", "/api/users"),
    ]) func `NV-01 it is shown where one gets from a resource`(query: String, path: String) async throws {
        try await AdminFixture.run { daemon throws in
            // A query within the URL is a part of the value.
            let parts = query.split(separator: "&", maxSplits: 1).map(String.init)
            let start = parts[0].replacing("?", with: "%3F").replacing("=", with: "%3D").replacing(
                "url%3D", with: "url=")
            let answer = try daemon.get("/-/resolve?" + ([start] + parts.dropFirst()).joined(separator: "&"))
            #expect(try answer.json["url"]?.string == daemon.url(path), "\(answer.content)")
            #expect(try answer.json["service"]?.string == (path.hasPrefix("/api/") ? "api" : "-"))
            #expect(daemon.origin.requests.isEmpty)
        }
    }

    @Test func `NV-01 what leads nowhere is refused`() async throws {
        try await AdminFixture.run { daemon throws in
            for query in [
                "", "url=nothing", "url=/api/a&relative=ftp://x/", "url=/api/a&child=b&relative=c",
                "url=/api/a&param==1",
                "url=/api/a&child=b&child=c", "url=/api/a&up=1",
            ] {
                #expect(try daemon.get("/-/resolve?\(query)").status == 400, "\(query)")
            }
        }
    }
}
