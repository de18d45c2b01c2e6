// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Warnings about a configuration")
struct SettingsWarningsTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let service: String
        let block: String
        let setting: String
        let says: [String]

        init(_ block: String, _ setting: String, _ says: String..., service: String = "") {
            (self.block, self.setting, self.says, self.service) = (block, setting, says, service)
        }

        var testDescription: String { block }
    }

    @Test(arguments: [
        Case("match: \"/users/{id}\"", "match", "`{id}`", "did you mean `/users/*`?"),
        Case("match: \"/users/[a-z]\"", "match", "`[a-z]`", "did you mean `/users/*`?"),
        Case("match: \"/users/:id/repos\"", "match", "`:id`", "did you mean `/users/*/repos`?"),
        Case("match: /v1/users/*", "match", "`/v1/` of `baseURL` twice", "did you mean `/users/*`?"),
        Case("match: https://other.test/**", "match", "`other.test`", "allowHosts"),
        Case("url: https://other.test/x", "url", "`other.test`"),
        Case("scheme: http", "scheme", "`http`"),
        Case("methods: [GTE]", "methods", "`GTE`", "did you mean `GET`?"),
        Case("onChange: { webhook: \"http://hooks.test/a?key=b\" }", "onChange.webhook", "`hooks.test`", "unencrypted"),
        Case("onChange: { exec: [/nowhere/program, a] }", "onChange.exec", "`/nowhere/program`, which is not there"),
        Case("{ keyedByContent: true, methods: [GET] }", "keyedByContent", "without content"),
        Case("query: { cmd: \"delete*\" }", "query", "`delete*`", "taken as it stands", "`regex`"),
    ])
    func `a block that cannot work is warned of, and read all the same`(_ row: Case) throws {
        let block = row.block.hasPrefix("{") ? row.block : "{ \(row.block) }"
        let fixture = try ConfigurationFixture(
            "services:\n  api:\n    baseURL: https://api.test/v1/\n    configure: [\(block)]\n")
        let warnings = try fixture.loader.load().warnings
        #expect(warnings.map(\.setting) == ["services.api.configure[0].\(row.setting)"])
        for words in row.says { #expect(warnings[0].description.contains(words), "\(warnings[0])") }
        #expect(warnings[0].line == 4)
    }

    @Test func `problems of all kinds are reported at once`() throws {
        let fixture = try ConfigurationFixture(
            """
            cache: { hideSurrogateKey: true }
            lisen: []
            upstream: { caFile: /nowhere/ca.pem }
            services:
              api:
                baseURL: https://api.test/
                configure: [{ match: "/{id}" }]
            """)
        do throws(SettingsProblems) {
            _ = try fixture.loader.load()
            Issue.record("it was read")
        } catch {
            #expect(error.problems.map(\.setting) == ["cache.hideSurrogateKey", "", "upstream.caFile"])
            #expect(error.warnings.map(\.setting) == ["services.api.configure[0].match"])
        }
    }

    @Test(arguments: [
        ("preset: github", "{ match: /users/*, expirationTime: 10 min }", true),
        ("preset: github", "{ match: /users/*, keepFor: 10 min }", false),
        ("preset: github", "{ expirationTime: { time: 10 min, mode: fallback } }", false),
        ("baseURL: https://registry.npmjs.org/", "{ expirationTime: 10 min }", true),
        ("preset: pypi", "{ match: /simple/*, expirationTime: 1 h }", false),
        ("preset: maven", "{ expirationTime: 1 h }", false),
        ("baseURL: https://api.test/", "{ expirationTime: 1 h }", false),
    ])
    func `a plain expirationTime is warned of where the origin always names a lifetime`(
        service: String, block: String, isUnused: Bool
    ) throws {
        let fixture = try ConfigurationFixture("services:\n  api:\n    \(service)\n    configure: [\(block)]\n")
        let warnings = try fixture.loader.load().warnings
        #expect(warnings.map(\.setting) == (isUnused ? ["services.api.configure[0].expirationTime"] : []))
        if isUnused { #expect(warnings[0].suggestion == "keepFor: 10 min") }
    }

    @Test(arguments: [
        "match: /users/*", "match: \"**\"", "match: https://api.test/v1/x", "match: https://*.test/x",
        "match: https://cdn.test/x", "host: api.test", "scheme: https", "methods: [GET, QUERY, PROPFIND]",
        "match: /v11/users", "query: { a: \"*\", b: null, c: d }", "match: \"/a:b/*\"",
        "onChange: { webhook: \"http://hooks.test/a\" }",
        "onChange: { webhook: \"https://hooks.test/a?key=b\" }",
        "onChange: { webhook: \"http://localhost:8080/?a=b\" }",
        "onChange: { exec: /bin/sh }", "onChange: none",
    ])
    func `a block that works is not`(block: String) throws {
        let fixture = try ConfigurationFixture(
            """
            services:
              api: { baseURL: "https://api.test/v1/", allowHosts: [cdn.test], configure: [{ \(block) }] }
            """)
        #expect(try fixture.loader.load().warnings == [])
    }

    @Test(arguments: ["dockerhub", "oci"])
    func `a registry that shares what tokens fetched is warned of where clients of other machines are served`(
        preset: String
    ) throws {
        func warnings(_ access: String, _ more: String = "") throws -> [SettingsProblem] {
            let place = preset == "oci" ? ", baseURL: \"https://ghcr.io/\"" : ""
            let fixture = try ConfigurationFixture(
                "services:\n  images: { preset: \(preset)\(place)\(more) }\naccess: { allow: [\(access)] }\n")
            return try fixture.loader.load().warnings
        }
        #expect(try warnings("").isEmpty)
        #expect(try warnings("192.0.2.0/24", ", privacy: partitioned").isEmpty)
        let found = try warnings("192.0.2.0/24")
        #expect(found.map(\.setting) == ["services.images.preset"])
        #expect(found.first?.description.contains("privacy: partitioned") == true)
    }

    @Test func `a listener where everybody is refused, and a socket that is everybody's`() throws {
        let fixture = try ConfigurationFixture("listen: [\"0.0.0.0:3128\"]\nadmin: { socketMode: 0666 }\n")
        let warnings = try fixture.loader.load().warnings
        #expect(warnings.map(\.setting) == ["listen", "admin.socketMode"])
        let open = try ConfigurationFixture("listen: [\"0.0.0.0:3128\"]\naccess: { allow: [192.0.2.0/24] }\n")
        #expect(try open.loader.load().warnings == [])
    }

    @Test(arguments: [("12 MiB", true), ("13 MiB", false)])
    func `responses may be as long as a service's part of the room for transformers`(size: String, fits: Bool) throws {
        let fixture = try ConfigurationFixture("limits: { transformedContent: \(size), transforming: 16 MiB }\n")
        #expect(try fixture.loader.load().warnings.map(\.setting) == (fits ? [] : ["limits.transformedContent"]))
    }

    @Test(arguments: [("/", true), ("/web/", false)])
    func `a mount above another's shares cookies with it`(mount: String, warns: Bool) throws {
        let fixture = try ConfigurationFixture(
            """
            services:
              web: { baseURL: https://web.example/, mount: \(mount) }
              other: { baseURL: https://other.example/ }

            """)
        let warnings = try fixture.loader.load().warnings
        #expect(warnings.map(\.setting) == (warns ? ["services.web.mount"] : []))
        if warns { #expect(warnings[0].description.contains("web.localhost"), "\(warnings)") }
    }

    @Test(arguments: [
        ("listen: [\"0.0.0.0:3128\", \"127.0.0.1:3128\"]", "`127.0.0.1:3128`, which is among `0.0.0.0:3128`"),
        ("listen: [\"localhost:3128\", \"[::]:3128\"]", "`[::1]:3128`, which is among `[::]:3128`"),
        ("listen: [\"0.0.0.0:3128\", \"[::]:3128\"]", nil), ("listen: [\"127.0.0.1:3128\", \"[::]:3128\"]", nil),
        ("listen: [\"0.0.0.0:3128\", \"127.0.0.1:3129\"]", nil),
    ])
    func `addresses that include one another cannot be listened on at once`(listen: String, text: String?) throws {
        let fixture = try ConfigurationFixture("\(listen)\naccess: { allow: [192.0.2.0/24] }\n")
        let warnings = try fixture.loader.load().warnings
        #expect(warnings.map(\.setting) == (text == nil ? [] : ["listen"]))
        if let text { #expect(warnings.first?.description.contains(text) == true, "\(warnings)") }
    }

    @Test(arguments: [
        ("{ otlp: \"http://tracer.test:4317\" }", "trace.otlp", "did you mean `http://tracer.test:4318`?"),
        ("{ sample: 0.5 }", "trace.sample", "nothing is exported"),
        ("{ headers: { X-Team: us } }", "trace.headers", "nothing is exported"),
    ])
    func `traces that reach no collector`(trace: String, setting: String, says: String) throws {
        let fixture = try ConfigurationFixture("trace: \(trace)\n")
        let warnings = try fixture.loader.load().warnings
        #expect(warnings.map(\.setting) == [setting])
        #expect(warnings[0].description.contains(says), "\(warnings[0])")
    }

    @Test(arguments: [
        ("otlp: localhost:4318", "did you mean `http://localhost:4318`?"),
        ("otlp: tracer.test/otlp", "did you mean `https://tracer.test/otlp`?"), ("otlp: ftp://a.test", "not a scheme"),
        ("otlp: \"http://me@a.test\"", "send credentials with `trace.headers`"),
        ("otlp: \"http://a.test/?key=1\"", "send credentials with `trace.headers`"),
        ("sample: 5%", "did you mean `0.05`?"), ("sample: 2", "the most is 1"), ("sample: -1", "the least is 0"),
        ("sample: often", "a number from 0 to 1"),
    ])
    func `a collector's URL that is none, and a share that is none`(setting: String, says: String) throws {
        let problem = try #require(try ConfigurationFixture("trace: { \(setting) }\n").problems().first)
        #expect(problem.description.contains(says), "\(problem)")
    }

    @Test func `certificates and programs that are not there`() throws {
        let fixture = try ConfigurationFixture(
            """
            upstream: { caFile: /nowhere/ca.pem }
            services:
              api:
                baseURL: https://api.test/
                tls: { caFile: /nowhere/other.pem }
                configure: [{ pipeline: { model: [{ exec: { command: [/nowhere/program] } }] } }]
            """)
        let loaded = try fixture.loader.load()
        #expect(loaded.absent.map(\.setting) == ["upstream.caFile", "services.api.tls.caFile"])
        #expect(loaded.absent[0].description.contains("`/nowhere/ca.pem`: there is no such file"))
        #expect(loaded.warnings.map(\.setting) == ["services.api.configure[0].pipeline.model"])
        #expect(loaded.warnings[0].description.contains("`/nowhere/program`, which is not there"))
    }

    @Test(arguments: [
        ("/var/cache/larder", "/var/cache/larder/larder.db"), ("/var/cache/larder/", "/var/cache/larder/larder.db"),
        ("/var/cache/larder/larder.db", "/var/cache/larder/larder.db"), ("/var/x.db/", "/var/x.db/larder.db"),
    ])
    func `the cache's directory is named in three ways that mean the same`(written: String, read: String) throws {
        #expect(try ConfigurationFixture("cache: { path: \(written) }").settings().cache.path == .path(read))
    }

    @Test func `a database of another name is refused with the directory`() throws {
        let problem = try #require(try ConfigurationFixture("cache: { path: /var/lib/x/my.db }").problems().first)
        #expect(problem.suggestion == "/var/lib/x")
    }

    @Test(arguments: [("0660", "0660"), ("660", "0660"), ("0o600", "0600")])
    func `modes are octal`(written: String, shown: String) throws {
        #expect(try ConfigurationFixture("admin: { socketMode: \(written) }").settings().admin.socketMode.text == shown)
    }

    @Test(arguments: ["0777", "0060", "rw", "0o9", "6"])
    func `other modes are refused`(written: String) throws {
        #expect(try ConfigurationFixture("admin: { socketMode: \(written) }").problems().count == 1)
    }

    @Test func `the schema for editors is the one of the catalogue`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../../etc/larder.schema.json")
        let schema = SettingsSchema.json
        #expect(
            try JSONValue(parsing: Array(Data(contentsOf: file))) == schema,
            "write it anew with `larder settings --json-schema`")
        // Every setting has its place.
        for setting in SettingsReference.flat where !setting.name.contains("<name>") {
            let place = setting.name.split(separator: ".").reduce(schema as JSONValue?) {
                $0?["properties"]?[String($1)]
            }
            #expect(place != nil, "\(setting.name)")
        }
    }
}
