// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderAdmin
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import Logging

/// The daemon's log on standard error. Level and format can change while it runs.
final class DaemonLog: Sendable {
    private struct State {
        var level: Logger.Level
        var style: LogLine.Style
    }

    /// True if the journal reads standard error: it adds its own times, and parses a line's priority from its prefix.
    private let isJournal: Bool
    private let state: Lock<State>
    private let writer: LogWriter
    /// The latest warnings and errors.
    let recent = RecentLines()

    init(_ settings: Settings.Log, environment: [String: String], descriptor: Int32 = STDERR_FILENO) {
        isJournal = DaemonLog.isJournal(environment["JOURNAL_STREAM"], descriptor)
        state = Lock(State(level: settings.level, style: DaemonLog.style(settings, isJournal)))
        writer = LogWriter(descriptor: descriptor)
    }

    var logger: Logger {
        Logger(label: "larder") { _ in DaemonLogHandler(log: self) }
    }

    /// Applies these settings.
    func apply(_ settings: Settings.Log) {
        state.withLock { $0 = State(level: settings.level, style: DaemonLog.style(settings, isJournal)) }
    }

    /// Writes a complete line unchanged, in any format of the log.
    func writeLine(_ line: String) { writer.write((isJournal ? "<6>" : "") + line) }

    /// Writes queued messages.
    func close() { writer.close() }

    fileprivate var level: Logger.Level { state.withLock { $0.level } }

    fileprivate func write(_ line: LogLine) {
        let style = state.withLock { $0.style }
        writer.write(line.text(style))
        if line.level >= .warning { recent.add(String(line.text(LogLine.Style()).dropLast())) }
    }

    private static func style(_ settings: Settings.Log, _ isJournal: Bool) -> LogLine.Style {
        LogLine.Style(isJSON: settings.format == .json, isJournal: isJournal)
    }

    /// True if `descriptor` leads to `stream`, a device and an inode (systemd.exec(5)).
    static func isJournal(_ stream: String?, _ descriptor: Int32) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2 else { return false }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return UInt64(parts[0]) == UInt64(status.st_dev) && UInt64(parts[1]) == UInt64(status.st_ino)
    }
}

/// One message of the log as text.
struct LogLine: Sendable {
    struct Style: Sendable, Equatable {
        var isJSON = false
        var isJournal = false
    }

    var time: Timestamp
    var level: Logger.Level
    var message: String
    /// In the order of the names.
    var metadata: [(name: String, value: String)]
    /// The names of the values that are numbers.
    var numbers: Set<String> = []

    /// The message as exactly one line, with its line end.
    func text(_ style: Style) -> String {
        let priority = style.isJournal ? "<\(level.priority)>" : ""
        return priority + (style.isJSON ? json(style) : plain(style)) + "\n"
    }

    private func json(_ style: Style) -> String {
        var parts = style.isJournal ? [] : ["\"time\":\(JSONText.string(timeText))"]
        parts += ["\"level\":\(JSONText.string(level.rawValue))", "\"message\":\(JSONText.string(message))"]
        for (name, value) in metadata where !["time", "level", "message"].contains(name) {
            parts.append("\(JSONText.string(name)):\(numbers.contains(name) ? value : JSONText.string(value))")
        }
        return "{" + parts.joined(separator: ",") + "}"
    }

    private func plain(_ style: Style) -> String {
        var text = style.isJournal ? "" : "\(timeText) \(level.rawValue) "
        text += Outline.printable(message)
        for (name, value) in metadata { text += " \(name)=\(LogLine.quotedIfNeeded(value))" }
        return text
    }

    private var timeText: String { ISOTime.string(time, milliseconds: true) }

    private static func quotedIfNeeded(_ value: String) -> String {
        let isPlain = !value.isEmpty && !value.unicodeScalars.contains { $0.value <= 0x20 || $0 == "\"" || $0 == "=" }
        return isPlain
            ? Outline.printable(value) : "\"" + Outline.printable(value).replacing("\"", with: "\\\"") + "\""
    }
}

/// Receives messages from swift-log.
private struct DaemonLogHandler: LogHandler {
    let log: DaemonLog
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    /// The level set for this logger alone.
    private var ownLevel: Logger.Level?

    init(log: DaemonLog) { self.log = log }

    var logLevel: Logger.Level {
        get { ownLevel ?? log.level }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let given = event.metadata { all.merge(given) { _, new in new } }
        log.write(
            LogLine(
                time: Timestamp(nanoseconds: SystemTime().now()), level: event.level,
                message: event.message.description,
                metadata: all.sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) },
                numbers: Set(all.filter { isNumber($0.value) }.map(\.key))))
    }

    private func isNumber(_ value: Logger.MetadataValue) -> Bool {
        if case .stringConvertible(let value) = value { value is any BinaryInteger } else { false }
    }
}

extension Logger.Level {
    /// The priority of syslog(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
