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

    /// Writes the table and the sections of the page anew where `LARDER_WRITE_GOLDEN` is set.
    @Test func `the table and the sections of the committed page are what the presets say`() throws {
        var page = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(page.range(of: "\n| preset |")).upperBound
        let rows = Preset.all.map { "| `\($0.name)` | \($0.clients) | \($0.kept) | \($0.again) |\n" }
        let sections = Preset.all.map { preset in
            "\n## \(preset.name)\n\n\(preset.about)\n\n```text\n\(preset.paste)```\n"
                + (preset.notes.isEmpty ? "" : "\n\(preset.notes)")
        }
        let said = " clients | kept for | the second client asks |\n|---|---|---|---|\n" + (rows + sections).joined()
        if ProcessInfo.processInfo.environment["LARDER_WRITE_GOLDEN"] != nil {
            page.replaceSubrange(start..., with: said)
            try page.write(to: Self.page, atomically: true, encoding: .utf8)
        } else {
            #expect(page[start...] == said, "LARDER_WRITE_GOLDEN=1 with this test writes them anew")
        }
    }
}
