// SPDX-License-Identifier: Apache-2.0

/// Runs the daemon until it is told to stop.
enum DaemonRunner {
    static func run(loader: SettingsLoader) async throws {
        let loaded = try loader.load()
        for note in loaded.notes { Terminal.writeError("larder: \(note)") }
        throw CommandFailure("this build has no daemon", advice: "only the configuration was read")
    }
}
