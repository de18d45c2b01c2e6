// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderProxy
import Testing

@testable import LarderCLI

@Suite("The page about requests")
struct RequestsPageTests {
    private static let page = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/requests.md")

    /// The page's configurations, with the variables that the page declares elsewhere.
    private static func examples() throws -> [String] {
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.components(separatedBy: "```yaml\n").dropFirst().map { part in
            let example = part.components(separatedBy: "```")[0]
            return example.contains("variables:") ? example : "variables: { token: {}, password: {} }\n" + example
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: page.path)))
    func `every example is a configuration`() throws {
        let examples = try Self.examples()
        #expect(examples.count >= 6)
        for example in examples {
            let fixture = try ConfigurationFixture(example, environment: ["API_PASSWORD": "hush"])
            _ = try fixture.write("one\n", to: "api-token")
            var loader = fixture.loader
            loader.environment["CREDENTIALS_DIRECTORY"] = fixture.directory
            #expect(throws: Never.self, "\(example)") { try loader.load() }
        }
    }
}
