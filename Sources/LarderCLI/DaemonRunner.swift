// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderAdmin
import LarderIO
import LarderProxy
import Logging

/// Runs the daemon until it is told to stop.
enum DaemonRunner {
    static func run(loader: SettingsLoader) async throws {
        let loaded = try loader.load()
        var logger = Logger(label: "larder") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = loaded.settings.log.level
        for note in loaded.notes { logger.notice("\(note)") }
        let daemon = try Daemon(settings: loaded.settings, logger: logger)
        let addresses = try await daemon.proxy.start()
        if let socket = loaded.settings.admin.socket.path { try await daemon.proxy.listen(onSocketAt: socket) }
        logger.notice("serving", metadata: ["addresses": "\(addresses.map(String.init(describing:)).joined(separator: " "))"])
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            signalled = continuation
            signal(SIGTERM) { _ in DaemonRunner.stop() }
            signal(SIGINT) { _ in DaemonRunner.stop() }
        }
        await daemon.proxy.drain()
    }
    nonisolated(unsafe) static var signalled: UnsafeContinuation<Void, Never>?
    static func stop() { signalled?.resume(); signalled = nil }
}
