// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderTesting
import Testing

/// Programs that the compiler refuses, shown by asking it.
@Suite("At compile time")
struct CompileTimeTests {
    /// The compiler's messages about a program; nil where there is no compiler.
    private func diagnostics(_ text: String) throws -> String? {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let products = program.deletingLastPathComponent()
        let modules = products.appendingPathComponent("Modules")
        guard FileManager.default.fileExists(atPath: modules.path) else { return nil }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        var arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules.path]
        for name in try FileManager.default.contentsOfDirectory(atPath: products.path) {
            let map = products.appendingPathComponent(name).appendingPathComponent("module.modulemap")
            if FileManager.default.fileExists(atPath: map.path) {
                arguments += ["-Xcc", "-fmodule-map-file=\(map.path)"]
            }
        }
        process.arguments = arguments + [file.path]
        let output = Pipe()
        process.standardError = output
        process.standardOutput = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 127 ? nil : said
    }

    @Test func `TR-15 content that could be changed by two threads does not compile`() throws {
        let before = "import Larder\nfinal class Box { var value = 0 }\nlet now = Timestamp(seconds: 0)\n"
        let good = try diagnostics(before + "let entity = Entity(content: [1], timestamp: now)")
        guard let good else { return }
        #expect(good == "")
        for bad in [
            "let entity = Entity(content: Box(), timestamp: now)",
            "let resource = Service(\"x\").resource(\"y\"); resource.overrideLocalContent(with: Box())",
            "Service(\"x\").configureTransformer(\"y\") { (text: String, _) in Box() }",
        ] {
            let said = try diagnostics(before + bad) ?? ""
            #expect(said.contains("error:") && said.contains("Sendable"), "\(bad): \(said)")
        }
    }
}
