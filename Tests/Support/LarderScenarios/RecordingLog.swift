// SPDX-License-Identifier: Apache-2.0
package import LarderTesting
package import Logging

extension Logger {
    /// A logger of everything, whose lines go to `recorder` with all their metadata.
    package static func recording(into recorder: Recorder<String>) -> Logger {
        var logger = Logger(label: "scenario") { _ in RecordingLog(recorder: recorder) }
        logger.logLevel = .trace
        return logger
    }
}

private struct RecordingLog: LogHandler {
    let recorder: Recorder<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        recorder.add(([event.message.description] + pairs).joined(separator: " "))
    }
}
