// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Services that a program brings along")
struct DeclaredServiceTests {
    private let shop = DeclaredService(name: "shop", baseURL: "https://shop.test/api", mount: "/store/") {
        $0.configure("**") { $0.retryTime = .seconds(7) }
    }

    private func load(_ yaml: String?, _ services: DeclaredService...) throws -> Settings {
        let fixture = try ConfigurationFixture(yaml)
        var loader = fixture.loader
        loader.declared = services
        return try loader.load().settings
    }

    private func problems(_ yaml: String?, _ services: DeclaredService...) throws -> [String] {
        let fixture = try ConfigurationFixture(yaml)
        var loader = fixture.loader
        loader.declared = services
        do throws(SettingsProblems) {
            _ = try loader.load()
            return []
        } catch {
            return error.problems.map(\.setting)
        }
    }

    @Test(arguments: [
        nil, "", "threads: 2\n", "services:\n", "services: { other: { baseURL: 'http://other.test' } }\n",
    ])
    func `they are there whatever the file says`(yaml: String?) throws {
        let service = try #require(try load(yaml, shop).services.first { $0.name == "shop" })
        #expect(service.baseURL.shown == "https://shop.test/api/")
        #expect(service.effectiveMount == "/store/")
        #expect(service.declare != nil)
    }

    @Test func `the file may say more, and what it says wins`() throws {
        let yaml = "services: { shop: { baseURL: 'http://127.0.0.1:1/', offline: yes } }\n"
        let service = try #require(try load(yaml, shop).services.first)
        #expect(service.baseURL.shown == "http://127.0.0.1:1/")
        #expect(service.effectiveMount == "/store/")
        #expect(service.offline == .on)
        #expect(service.declare != nil)
    }

    @Test func `they are checked as those of a file are`() throws {
        let wrong = DeclaredService(name: "Shop", baseURL: "ftp://shop.test", mount: nil) { _ in }
        #expect(try !problems(nil, wrong).isEmpty)
        #expect(try problems("services: []\n", shop) == ["services"])
        #expect(try problems(nil, shop, shop) == ["services.shop"])
        let yaml = "services: { other: { baseURL: 'http://other.test', mount: /store/ } }\n"
        #expect(try problems(yaml, shop).contains { $0.hasSuffix("mount") })
    }
}
