// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderProxy
import LarderSettings

/// The destination of access log lines: the log, or a file, which is reopened when the configuration is reloaded.
final class AccessOutput: Sendable {
    private let log: DaemonLog
    private let file = Lock<LogFile?>(nil)

    init(log: DaemonLog) { self.log = log }

    /// The configured file, if there is one; throws where it cannot be written.
    func opened(_ settings: Settings.Log) throws -> LogFile? { try settings.accessFile.map { try LogFile($0) } }

    /// From now on lines go where these settings say; `opened` is their file.
    func use(_ opened: LogFile?, _ settings: Settings.Log, in proxy: Proxy) {
        if let opened {
            proxy.accessLog.send { opened.write($0) }
        } else if settings.accessFormat == .standard {
            proxy.accessLog.send(to: nil)
        } else {
            proxy.accessLog.send { [log] in log.writeLine($0) }
        }
        let before = file.withLock { file in
            defer { file = opened }
            return file
        }
        before?.close()
    }
}

/// A file to which lines are appended.
final class LogFile: Sendable {
    private let descriptor: Int32
    private let writer: LogWriter

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else {
            throw CommandFailure(
                "cannot write \(path): \(String(cString: strerror(errno)))", advice: "see `log.accessFile`")
        }
        writer = LogWriter(descriptor: descriptor)
    }

    func write(_ line: String) { writer.write(line) }

    /// Writes queued lines. Lines written by others meanwhile still go to the file.
    func close() { writer.close() }

    deinit {
        writer.close()
        Glibc.close(descriptor)
    }
}
