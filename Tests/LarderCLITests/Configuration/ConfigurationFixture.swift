// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderSettings

@testable import LarderCLI

/// A configuration as files, options and an environment of its own.
struct ConfigurationFixture: ~Copyable {
    let directory: String
    var loader: SettingsLoader

    init(_ yaml: String?, set overrides: [String] = [], environment: [String: String] = [:]) throws {
        try self.init(bytes: yaml.map { Array($0.utf8) }, set: overrides, environment: environment)
    }

    init(bytes: [UInt8]?, set overrides: [String] = [], environment: [String: String] = [:]) throws {
        directory = NSTemporaryDirectory() + "larder-settings-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var named: String?
        if let bytes {
            named = directory + "/larder.yaml"
            try Data(bytes).write(to: URL(fileURLWithPath: directory + "/larder.yaml"))
        }
        var loader = SettingsLoader(
            file: named, overrides: overrides, environment: ["HOME": "/home/someone"].merging(environment) { $1 })
        loader.usualFiles = [directory + "/usual.yaml"]
        loader.user = 1_000
        self.loader = loader
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func write(_ text: String, to name: String) throws -> String {
        let path = directory + "/" + name
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// The settings; the test fails with the problems if there are any.
    func settings() throws -> Settings { try loader.load().settings }

    /// The problems; empty if there are none.
    func problems() -> [SettingsProblem] {
        do throws(SettingsProblems) {
            _ = try loader.load()
            return []
        } catch {
            return error.problems
        }
    }
}

extension SettingsProblem {
    var line: Int? {
        switch place {
        case .file(_, let line, _), .option(_, let line, _): line
        default: nil
        }
    }

    var column: Int? {
        switch place {
        case .file(_, _, let column), .option(_, _, let column): column
        default: nil
        }
    }
}
