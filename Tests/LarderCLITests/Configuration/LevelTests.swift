// SPDX-License-Identifier: Apache-2.0

import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Keys in the wrong place, and presets")
struct LevelTests {
    private static func problems(_ yaml: String) throws -> [String] {
        let fixture = try ConfigurationFixture(yaml)
        do throws(SettingsProblems) {
            _ = try fixture.loader.load()
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(arguments: [
        (
            "services:\n  a:\n    baseURL: https://a.test/\n    expirationTime: 1 min\n",
            ":4:5: services.a: found `expirationTime`, which belongs in a block of a service's `configure`"
        ),
        (
            "services:\n  a:\n    baseURL: https://a.test/\n    keepFor: 1 min\n",
            ":4:5: services.a: found `keepFor`, which belongs in a block of a service's `configure`"
        ),
        ("baseURL: https://a.test/\n", ":1:1: found `baseURL`, which belongs in a service, under `services`"),
        ("headers: { A: b }\n", ":1:1: found `headers`, which belongs in a block of a service's `configure`"),
        ("configure: []\n", ":1:1: found `configure`, which belongs in a service, under `services`"),
        ("pypi: { preset: pypi }\n", ":1:1: found `pypi`, which belongs under `services`"),
        (
            "services:\n  a:\n    baseURL: https://a.test/\n    listen: []\n",
            ":4:5: services.a: found `listen`, which belongs at the top of the file"
        ),
        (
            "services:\n  a:\n    baseURL: https://a.test/\n    configure:\n      - mount: /x/\n",
            ":5:9: services.a.configure[0]: found `mount`, which belongs in a service"
        ),
    ])
    func `a key of another level is told its place`(yaml: String, message: String) throws {
        let problems = try Self.problems(yaml)
        #expect(problems.count == 1)
        #expect(problems.first?.contains(message) == true, "\(problems)")
    }

    @Test func `blocks behind those of a preset have the numbers of the file`() throws {
        let problems = try Self.problems("services:\n  pypi: { preset: pypi, configure: [ { expirationTime: 5 } ] }\n")
        #expect(problems.first?.contains("services.pypi.configure[0].expirationTime") == true, "\(problems)")
    }

    @Test func `a preset used twice is told where the file uses it`() throws {
        let problems = try Self.problems("services:\n  a: { preset: pypi }\n  b: { preset: pypi }\n")
        #expect(!problems.isEmpty)
        #expect(problems.allSatisfy { !$0.hasPrefix("preset ") }, "\(problems)")
    }

    private static func shown(_ yaml: String) throws -> String {
        let fixture = try ConfigurationFixture(yaml)
        return try withExtendedLifetime(fixture) {
            SettingsCatalogue.show(try fixture.loader.load().settings).yamlBlock
        }
    }

    @Test func `settings that are shown are a configuration that shows the same`() throws {
        let yaml = "services:\n  pypi: { preset: pypi, configure: [ { expirationTime: 5 min } ] }\n"
        let first = try Self.shown(yaml)
        let second = try Self.shown(first)
        #expect(first == second)
        #expect(!first.contains("{}"))
        #expect(!first.contains("preset:"))
    }
}
