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

    /// The page's configurations; those of blocks alone are put into a service.
    private static func examples() throws -> [String] {
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.components(separatedBy: "```yaml\n").dropFirst().map { part in
            let example = part.components(separatedBy: "```")[0]
            guard example.hasPrefix("configure:") else { return example }
            let indented = example.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
            return
                "variables: { token: {}, password: {} }\nservices:\n  api:\n    baseURL: http://api.test/\n\(indented)\n"
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
