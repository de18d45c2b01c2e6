// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Presets")
struct PresetTests {
    func settings(_ services: String, environment: [String: String] = [:]) throws -> Settings {
        try ConfigurationFixture("services:\n\(services)", environment: environment).settings()
    }

    func problem(_ services: String) -> String {
        do {
            _ = try settings(services)
            return ""
        } catch { return "\(error)" }
    }

    @Test(arguments: Preset.all.map(\.name)) func `each is a configuration`(name: String) throws {
        let base = name == "oci" ? ", baseURL: \"https://ghcr.io/\"" : ""
        let settings = try settings("  x: { preset: \(name)\(base) }\n")
        #expect(settings.services.first?.preset == name)
        #expect(settings.services.count == 1 + (Preset.named(name)?.companions.count ?? 0))
        #expect(!(settings.services.first?.configure.isEmpty ?? true))
    }

    @Test func `what a service says itself wins, and its blocks come last`() throws {
        let services = try settings(
            """
              pypi: { preset: pypi@1, baseURL: "http://127.0.0.1:1/", configure: [{ match: /x }] }
              pypi-files: { baseURL: "http://127.0.0.1:2/", configure: [{ match: /y }] }

            """
        ).services
        #expect(services.map(\.name).sorted() == ["pypi", "pypi-files"])
        for service in services {
            #expect(service.baseURL.shown == (service.name == "pypi" ? "http://127.0.0.1:1/" : "http://127.0.0.1:2/"))
            #expect(service.configure.last?.pattern.match?.text == (service.name == "pypi" ? "/x" : "/y"))
            #expect(service.configure.count > 1)
        }
    }

    @Test func `a token goes where the preset has its place`() throws {
        let service = try #require(
            try settings("  github: { preset: github, token: \"${TOKEN}\" }\n", environment: ["TOKEN": "abc"])
                .services.first)
        #expect(service.privacy == .private)
        #expect(service.configure.last?.headers.first?.value?.reveal() == "Bearer abc")
        #expect(service.token == nil)
        #expect("\(SettingsCatalogue.service.show(service).yamlBlock)".contains("Bearer ${TOKEN}"))
    }

    @Test func `where a service has one user, the preset's way to tell users apart is not used`() throws {
        let service = try #require(
            try settings("  openai: { preset: openai, privacy: private, token: t }\n").services.first)
        #expect(service.privacy == .private && service.identity == nil)
        #expect(try settings("  openai: { preset: openai }\n").services.first?.identity != nil)
    }

    @Test func `what is wrong names the preset`() {
        #expect(problem("  x: { preset: cargo }\n").contains("did you mean `crates`?"))
        #expect(problem("  x: { preset: pypy }\n").contains("did you mean `pypi`?"))
        #expect(problem("  x: { preset: pypi@7 }\n").contains("`pypi@1`"))
        #expect(problem("  x: { preset: oci }\n").contains("without `baseURL`"))
        #expect(problem("  x: { preset: pypi, token: abc }\n").contains("`token` without a preset"))
        #expect(problem("  x: { preset: [pypi] }\n").contains("services.x.preset"))
        #expect(!problem("  x: { preset: [pypi] }\n").contains("baseURL"))
    }

    private static let page = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/presets.md")

    @Test(.enabled(if: FileManager.default.fileExists(atPath: page.path)))
    func `each has a section on its page`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        for preset in Preset.all { #expect(text.contains("\n## \(preset.name)\n"), "\(preset.name)") }
    }
}
