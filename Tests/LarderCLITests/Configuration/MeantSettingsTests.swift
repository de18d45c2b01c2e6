// SPDX-License-Identifier: Apache-2.0

import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Settings as other programs have them")
struct MeantSettingsTests {
    private func problems(_ yaml: String) throws -> String {
        let fixture = try ConfigurationFixture(yaml)
        return fixture.problems().map(\.description).joined(separator: "\n")
    }

    private func warnings(_ yaml: String) throws -> String {
        let fixture = try ConfigurationFixture(yaml)
        return try fixture.loader.load().warnings.map(\.description).joined(separator: "\n")
    }

    @Test(arguments: [
        ("port: 3128\n", "`listen`"), ("cache: { dir: /var/cache }\n", "`cache.path`"),
        ("cache: { directory: /var/cache }\n", "`cache.path`"), ("cache: { size: 1 GiB }\n", "`cache.disk`"),
        ("upstream: { proxy: \"http://a.test:3128\" }\n", "`upstream.parent`"),
        ("ttl: 60 s\n", "`expirationTime`"),
        ("services: { a: { baseURL: \"https://a.test\", ttl: 60 s } }\n", "`expirationTime`"),
        ("services: { a: { baseURL: \"https://a.test\", configure: [{ ttl: 60 s }] } }\n", "`expirationTime`"),
    ])
    func `a key of other proxies is answered with the one that does it here`(yaml: String, meant: String) throws {
        let text = try problems(yaml)
        #expect(text.contains("did you mean \(meant)?"), "\(text)")
    }

    @Test func `settings of a service that are not indented below it are told where they belong`() throws {
        let text = try problems("services:\n  shop:\n  baseURL: https://a.test\n  configure: []\n")
        #expect(text.contains("services.baseURL: found `baseURL` in place of a service's name"), "\(text)")
        #expect(text.contains("expected a setting of a service; indent it below `shop`"), "\(text)")
        #expect(text.split(separator: "\n").count == 2, "\(text)")
        #expect(try problems("services:\n  mount:\n    baseURL: https://a.test\n").isEmpty)
    }

    @Test(arguments: [("cache: { disk: 1 }", "`1 GiB`"), ("cache: { disk: 10 }", "`10 MiB`")])
    func `a number without a unit is answered with one that the setting may have`(yaml: String, meant: String) throws {
        let text = try problems(yaml + "\n")
        #expect(text.contains("did you mean \(meant)?"), "\(text)")
    }

    @Test func `keepFor is an expirationTime with the mode floor`() throws {
        func shown(_ setting: String) throws -> String {
            let yaml = "services: { a: { baseURL: \"https://a.test\", configure: [{ \(setting) }] } }\n"
            return SettingsCatalogue.show(try ConfigurationFixture(yaml).settings()).yaml
        }
        #expect(try shown("keepFor: 10 min") == shown("expirationTime: { time: 10 min, mode: floor }"))
        #expect(
            try shown("keepFor: { 200: 1 h, default: 1 s }")
                == shown("expirationTime: { 200: 1 h, default: 1 s, mode: floor }"))
        let text = try problems("services: { a: { baseURL: \"https://a.test\", configure: [{ keepfr: 1 h }] } }\n")
        #expect(text.contains("did you mean `keepFor`?"), "\(text)")
    }

    @Test func `a class of statuses is told to be written as statuses`() throws {
        let yaml = """
            services: { a: { baseURL: "https://a.test", configure: [{ expirationTime: { 200: 1 h, 4xx: 1 min } }] } }
            """
        let text = try problems(yaml)
        #expect(text.contains("statuses") && text.contains("`404: 1 min`"), "\(text)")
    }

    @Test func `the warning about another program's wildcard names those that there are`() throws {
        let yaml =
            "services: { a: { baseURL: \"https://a.test\", configure: [{ match: \"/{gzip*}\", cache: none }] } }\n"
        let text = try warnings(yaml)
        #expect(text.contains("`?` for one character"), "\(text)")
        #expect(!text.contains("no other wildcards exist"))
    }

    @Test func `a path of the gateway in a block's pattern is warned of`() throws {
        func warnings(of match: String) throws -> String {
            try self.warnings("services: { gh: { baseURL: \"https://a.test/\", configure: [{ match: \(match) }] } }\n")
        }
        let text = try warnings(of: "/gh/products/*")
        #expect(text.contains("did you mean `/products/*`?") && text.contains("gateway"), "\(text)")
        #expect(try warnings(of: "/products/gh/*").isEmpty)
    }
}
