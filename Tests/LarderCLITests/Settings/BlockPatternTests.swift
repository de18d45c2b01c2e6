// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("What a block is for")
struct BlockPatternTests {
    @Test(arguments: [
        ("{}", "http://elsewhere.test/", true),
        ("{ match: /users/* }", "https://api.test/v1/users/7", true),
        ("{ match: /users/* }", "https://api.test/v2/users/7", false),
        ("{ match: /users/*, except: /users/me }", "https://api.test/v1/users/me", false),
        ("{ match: /users/*, except: /users/me }", "https://api.test/v1/users/you", true),
        ("{ regex: \"page=[0-9]+$\" }", "https://api.test/v1/a?page=12", true),
        ("{ regex: \"page=[0-9]+$\" }", "https://api.test/v1/a?page=x", false),
        ("{ regex: \"(?i)/USERS/\" }", "https://api.test/v1/users/7", true),
        ("{ url: \"https://api.test/v1/a?b\" }", "https://api.test/v1/a?b", true),
        ("{ url: \"https://api.test/v1/a?b\" }", "https://api.test/v1/a", false),
        ("{ scheme: http }", "http://api.test/v1/a", true), ("{ scheme: http }", "https://api.test/v1/a", false),
        ("{ host: \"*.test\" }", "http://api.test/v1/a", true), ("{ host: other.test }", "http://api.test/", false),
        ("{ query: { a: \"1\" } }", "https://api.test/v1/?b=2&a=1", true),
        ("{ query: { a: 1 } }", "https://api.test/v1/?a=11", false),
        ("{ query: { a: b c } }", "https://api.test/v1/?a=b+c", true),
        ("{ query: { a: b c } }", "https://api.test/v1/?a=b%20c", true),
        ("{ query: { a: \"*\" } }", "https://api.test/v1/?a", true),
        ("{ query: { a: \"*\" } }", "https://api.test/v1/?b", false),
        ("{ query: { a: null } }", "https://api.test/v1/", true),
        ("{ query: { a: null } }", "https://api.test/v1/?a=1", false),
        ("{ query: { a: 1, b: null } }", "https://api.test/v1/?a=1&b", false),
    ])
    func `every condition must hold`(block: String, url: String, isMeant: Bool) throws {
        let pattern = try service(block).configure[0].pattern
        let isSelected = pattern.predicate(relativeTo: try TargetURI("https://api.test/v1/"))
        #expect(isSelected(ResourceURL(url)) == isMeant)
    }

    @Test(arguments: [
        ("{}", "everything"), ("{ match: /a, except: /b }", "/a, except /b"),
        ("{ query: { a: 1, b: null } }", "query a=1, no query b"),
        ("{ match: /a, description: all of it }", "all of it"),
    ])
    func `a block is called by its description, else by its conditions`(block: String, title: String) throws {
        #expect(try service(block).configure[0].title == title)
    }

    @Test(
        arguments: [
            ("{ expirationTime: 1 s }", Configuration.ExpirationMode.heuristic, .fallback),
            ("{ expirationTime: { time: 1 s, mode: cap } }", .heuristic, .cap),
            ("{ expirationTime: 1 s, override: true }", .heuristic, .override),
            ("{ override: false }", .cap, .fallback),
            ("{ retryTime: 1 s }", .cap, .cap),
        ] as [(String, Configuration.ExpirationMode, Configuration.ExpirationMode)])
    func `override is short for a mode`(
        block: String, before: Configuration.ExpirationMode, after: Configuration.ExpirationMode
    ) throws {
        var configuration = Configuration()
        configuration.expirationMode = before
        try service(block).configure[0].apply(to: &configuration)
        #expect(configuration.expirationMode == after)
    }

    @Test func `fields are set and removed in the order written`() throws {
        let headers = try service("{ headers: { User-Agent: acme, Accept: null } }").configure[0].headers
        #expect(headers.map(\.name) == ["User-Agent", "Accept"])
        #expect(headers.map { $0.value?.reveal() } == ["acme", nil])
    }

    private func service(_ block: String) throws -> ServiceSettings {
        let fixture = try ConfigurationFixture(
            "services: { a: { baseURL: \"https://api.test/v1\", configure: [ \(block) ] } }")
        return try #require(try fixture.settings().services.first)
    }
}
