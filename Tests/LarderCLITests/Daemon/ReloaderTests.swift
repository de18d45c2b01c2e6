// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LarderAdmin
import LarderProxy
import LarderSettings
import Logging
import Testing

@testable import LarderCLI

@Suite("Reloading")
struct ReloaderTests {
    /// What can fail is done before the configuration is in force: a second opening of the file might fail after it.
    @Test func `the access log is opened once, before the configuration is in force`() async throws {
        let fixture = try ConfigurationFixture("threads: 1\n")
        let access = try fixture.write("", to: "access.log")
        let settings = try fixture.settings()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let daemon = try Daemon(settings: settings, logger: logger)
        let pipe = Pipe()
        let log = DaemonLog(settings.log, environment: [:], descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let reloader = Reloader(
            loader: fixture.loader, daemon: daemon, log: log, accessOutput: AccessOutput(log: log),
            notifier: ServiceNotifier(socket: nil))

        let watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        defer { close(watch) }
        #expect(inotify_add_watch(watch, access, UInt32(IN_OPEN | IN_CLOSE)) >= 0)
        _ = try fixture.write("threads: 1\nlog: { accessFile: \(access) }\n", to: "larder.yaml")
        #expect(await reloader.reload().problems == [])
        var events = [inotify_event](repeating: inotify_event(), count: 8)
        let size = MemoryLayout<inotify_event>.size
        #expect(read(watch, &events, events.count * size) == size)
        log.close()
        await daemon.proxy.drain()
    }
}
