// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderProxy
import Testing

/// docs/configuration.md lists every setting; the lists are what the catalogue says, to the letter.
@Suite struct ConfigurationReferenceTests {
    @Test(arguments: ["settings", "services", "blocks"])
    func `the reference page says what the catalogue says`(list: String) throws {
        let page = try String(contentsOf: ConfigurationReferenceTests.page, encoding: .utf8)
        let open = "<!-- \(list) -->\n"
        let start = try #require(page.range(of: open)?.upperBound, "the page has no list of \(list)")
        let end = try #require(page.range(of: "<!-- end -->", range: start..<page.endIndex)?.lowerBound)
        let expected = ConfigurationReferenceTests.table(of: ConfigurationReferenceTests.settings(in: list))
        #expect(page[start..<end] == expected, "replace the list of \(list) by this:\n\(expected)")
    }

    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../docs/configuration.md").standardizedFileURL

    private static func settings(in list: String) -> [SettingDescription] {
        let all = SettingsCatalogue.descriptions
        let service = all.first { $0.name == "services" }?.inside ?? []
        return switch list {
        case "settings": all
        case "services": service
        default: service.first { $0.name == "configure" }?.inside ?? []
        }
    }

    private static func table(of settings: [SettingDescription]) -> String {
        var lines = ["| setting | may be | default | reload | meaning |", "|---|---|---|---|---|"]
        for setting in settings {
            let kind = setting.bounds.map { "\(setting.type): \($0)" } ?? setting.type
            let reload = setting.isReloadable ? "yes" : "restart"
            let initially = setting.initially.contains("`") ? setting.initially : "`\(setting.initially)`"
            let words = ["required", "empty", "not set", "all", "one per core"]
            let isProse = words.contains(setting.initially) || setting.initially.contains("the ")
            let shown = isProse ? setting.initially : initially
            lines.append("| `\(setting.name)` | \(kind) | \(shown) | \(reload) | \(setting.text) |")
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
