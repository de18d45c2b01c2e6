// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderTesting
import Testing

/// Programs that the compiler refuses, shown by asking it.
@Suite("At compile time")
struct CompileTimeTests {
    /// Whether there is a compiler to ask: tests may run where they were not built.
    static let hasCompiler = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/swiftc") }

    /// The compiler's messages about a program.
    private func diagnostics(_ text: String) throws -> String {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let products = program.deletingLastPathComponent()
        let modules = products.appendingPathComponent("Modules")
        try #require(FileManager.default.fileExists(atPath: modules.path), "there are no modules in \(modules.path)")
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
        return said
    }

    @Test(.enabled(if: hasCompiler, "the search path has no swiftc"))
    func `TR-15 content that could be changed by two threads does not compile`() throws {
        let before = "import Larder\nfinal class Box { var value = 0 }\nlet now = Timestamp(seconds: 0)\n"
        #expect(try diagnostics(before + "let entity = Entity(content: [1], timestamp: now)") == "")
        for bad in [
            "let entity = Entity(content: Box(), timestamp: now)",
            "let resource = Service(\"x\").resource(\"y\"); resource.overrideLocalContent(with: Box())",
            "Service(\"x\").configureTransformer(\"y\") { (text: String, _) in Box() }",
        ] {
            let said = try diagnostics(before + bad)
            #expect(said.contains("error:") && said.contains("Sendable"), "\(bad): \(said)")
        }
    }
}
