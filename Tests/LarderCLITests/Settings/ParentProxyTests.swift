// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings
import LarderUpstream
import Testing

@testable import LarderCLI

@Suite("Parent proxies")
struct ParentProxyTests {
    @Test func `the environment names proxies by scheme and exempts hosts`() throws {
        let settings = try load(environment: [
            "http_proxy": "http://proxy.test:8080", "HTTPS_PROXY": "secure.test:8081",
            "no_proxy": "internal.test, .corp.test,192.0.2.1",
        ])
        #expect(try parent("http://a.test/", settings) == "http://proxy.test:8080")
        #expect(try parent("https://a.test/", settings) == "http://secure.test:8081")
        for exempt in [
            "internal.test", "x.internal.test", "corp.test", "a.corp.test", "192.0.2.1", "localhost", "[::1]",
        ] {
            #expect(try parent("http://\(exempt)/", settings) == nil, "\(exempt)")
        }
    }

    @Test func `HTTP_PROXY in capitals is not looked at`() throws {
        #expect(try parent("http://a.test/", load(environment: ["HTTP_PROXY": "http://proxy.test:8080"])) == nil)
    }

    @Test func `no_proxy can be a star`() throws {
        let settings = try load(environment: ["http_proxy": "http://proxy.test:8080", "NO_PROXY": "*"])
        #expect(try parent("http://a.test/", settings) == nil)
    }

    @Test(arguments: [
        ("10.1.2.3", true), ("11.1.2.3", false), ("[2001:db8::5]", true), ("[2001:db9::5]", false),
        ("192.0.2.7:8080", true), ("192.0.2.7", false), ("[fd00::1]:8080", true), ("[fd00::1]", false),
        ("[fd00::2]", true), ("dot.test.", true), ("a.dot.test", true), ("sign.test:80", false),
    ])
    func `no_proxy has networks, addresses and ports`(authority: String, isDirect: Bool) throws {
        let exempt =
            "10.0.0.0/8, 2001:db8::/32,192.0.2.7:8080,[fd00::1]:8080,fd00::2,dot.test,10.0.0.0/33,sign.test:+80,10.0.0.0/+8"
        let fixture = try ConfigurationFixture(
            nil, environment: ["http_proxy": "http://proxy.test:8080", "no_proxy": exempt])
        let loaded = try fixture.loader.load()
        #expect(try parent("http://\(authority)/", loaded.settings) == (isDirect ? nil : "http://proxy.test:8080"))
        #expect(
            loaded.notes
                == ["10.0.0.0/33", "sign.test:+80", "10.0.0.0/+8"].map {
                    "no_proxy: `\($0)` is neither a host nor an address and is not looked at"
                })
    }

    @Test func `an empty variable is none`() throws {
        let settings = try load(environment: [
            "http_proxy": "http://proxy.test:8080", "https_proxy": "", "HTTPS_PROXY": "secure.test:8081",
            "no_proxy": "", "NO_PROXY": "a.test",
        ])
        #expect(try parent("http://a.test/", settings) == nil)
        #expect(try parent("http://b.test/", settings) == "http://proxy.test:8080")
        #expect(try parent("https://b.test/", settings) == "http://secure.test:8081")
    }

    @Test func `a proxy that is Larder itself is left out, and a note says so`() throws {
        let fixture = try ConfigurationFixture(nil, environment: ["http_proxy": "http://localhost:3128/"])
        let loaded = try fixture.loader.load()
        #expect(try parent("http://a.test/", loaded.settings) == nil)
        #expect(loaded.notes == ["http_proxy names Larder itself (http://localhost:3128) and is not used"])
    }

    @Test func `a variable that names no proxy is a problem, told without its value`() throws {
        let fixture = try ConfigurationFixture(nil, environment: ["https_proxy": "socks5://u:hush@proxy.test"])
        let problems = fixture.problems()
        #expect(problems.map(\.place) == [.environment("https_proxy")])
        #expect(!"\(problems)".contains("hush"))
    }

    @Test func `parent none does not look at the environment`() throws {
        let settings = try load("upstream: { parent: none }", environment: ["http_proxy": "nonsense here"])
        #expect(try parent("http://a.test/", settings) == nil)
    }

    @Test func `a service's own parent wins over the general one and over exemptions`() throws {
        let settings = try load(
            """
            upstream: { parent: "http://general.test:1", noProxy: [a.test] }
            services:
              a: { baseURL: "http://a.test/", parent: "http://own.test:2" }
              b: { baseURL: "http://b.test/", parent: none }
              c: { baseURL: "http://c.test/" }
            """)
        #expect(try parent("http://a.test/", settings, service: "a") == "http://own.test:2")
        #expect(try parent("http://b.test/", settings, service: "b") == nil)
        #expect(try parent("http://c.test/", settings, service: "c") == "http://general.test:1")
        #expect(try parent("http://a.test/", settings) == nil)
    }

    @Test func `a proxy's user and password are decoded and never shown`() throws {
        let proxy = try ParentAddress(reading: "http://user:h%40sh@proxy.test")
        #expect(proxy.authorization == "Basic \(Base64Text.encoded(Array("user:h@sh".utf8)))")
        #expect(proxy.port == 80)
        #expect(!"\(proxy.url)\(proxy)\(String(reflecting: proxy))".contains("h@sh"))
    }

    private func load(_ yaml: String? = nil, environment: [String: String] = [:]) throws -> Settings {
        let fixture = try ConfigurationFixture(yaml, environment: environment)
        return try fixture.settings()
    }

    private func parent(_ url: String, _ settings: Settings, service: String? = nil) throws -> String? {
        let service = settings.services.first { $0.name == service }
        return settings.parentProxy(for: service, origin: try TargetURI(url)).map(\.url)
    }
}
