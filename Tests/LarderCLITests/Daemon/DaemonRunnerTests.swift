// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LarderHTTP
import LarderIO
import Testing

@testable import LarderCLI

/// The program as a process of its own, told what to do by signals, and watched through its notifications.
@Suite("The daemon as a process")
struct DaemonRunnerTests {
    @Test func `CF-15 it starts, reloads, refuses what is invalid, and ends in good order`() async throws {
        let home = try Home()
        let base = home.configuration
        let daemon = try home.serve(base, environment: ["WATCHDOG_USEC": "200000"])
        #expect(try home.manager.receive() == "READY=1\nSTATUS=Serving 0 services.")
        #expect(try home.manager.receive() == "WATCHDOG=1")

        try home.write(base + "services: { a: { baseURL: 'http://a.example' } }\nthreads: 3\n")
        kill(daemon.processIdentifier, SIGHUP)
        #expect(try home.manager.receiveNews().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(try home.manager.receiveNews() == "READY=1\nSTATUS=Serving 1 service.")

        try home.write(base + "services: { b: { baseURL: 'http://b.example' } }\nlisen: []\n")
        kill(daemon.processIdentifier, SIGHUP)
        #expect(try home.manager.receiveNews().hasPrefix("RELOADING=1\n"))
        #expect(try home.manager.receiveNews().hasPrefix("READY=1\nSTATUS=Serving by the old configuration"))
        // Nothing of the file that was refused counts, and all of the one before it.
        let admin = AdminClient(socket: home.directory + "/larder.sock")
        _ = try admin.send(.get, "/-/resources?service=a")
        #expect(throws: CommandFailure.self) { try admin.send(.get, "/-/resources?service=b") }

        daemon.terminate()
        #expect(try home.manager.receiveNews().hasPrefix("STOPPING=1\n"))
        daemon.waitUntilExit()
        #expect(daemon.terminationStatus == 0)
        let log = home.log
        #expect(log.contains("a changed setting takes effect at the next start setting=threads"))
        #expect(log.contains("larder.yaml:5:1: found the unknown key `lisen`"))
        #expect(log.contains("did you mean `listen`?"))
    }

    @Test(arguments: [ProcessSignal.terminate, .interrupt])
    func `a request to stop does not wait for reloads, however many were asked for`(stop: ProcessSignal) async {
        let waiting = WaitingSignals()
        for _ in 0..<100 { waiting.add(.hangUp) }
        waiting.add(stop)
        waiting.add(.hangUp)
        var seen: [ProcessSignal] = []
        for await signal in waiting.stream { seen.append(signal) }
        #expect(seen == [stop])
    }

    @Test func `reloads that wait are one`() async {
        let waiting = WaitingSignals()
        for _ in 0..<3 { waiting.add(.hangUp) }
        var signals = waiting.stream.makeAsyncIterator()
        #expect(await signals.next() == .hangUp)
        waiting.add(.terminate)
        #expect(await signals.next() == .terminate)
        #expect(await signals.next() == nil)
    }

    @Test func `a store in use, and an address in use, are said to be so`() throws {
        let home = try Home()
        let first = try home.serve(home.configuration)
        #expect(try home.manager.receive().hasPrefix("READY=1"))
        let second = try home.serve(home.configuration)
        second.waitUntilExit()
        #expect(second.terminationStatus == 1)
        #expect(home.log.contains("is in use by process \(first.processIdentifier)"))

        let other = try Home()
        let socket = try other.serve(
            other.configuration.replacing("\(other.directory)/larder.sock", with: "\(home.directory)/larder.sock"))
        socket.waitUntilExit()
        #expect(socket.terminationStatus == 1)
        #expect(other.log.contains("another process listens on this socket"))
        first.terminate()
        first.waitUntilExit()
    }
}

/// A directory for one daemon, with its configuration, its manager's socket and its log.
private final class Home {
    let directory: String
    let manager: DatagramSocket

    init() throws {
        directory = NSTemporaryDirectory() + "larder-daemon-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        manager = try DatagramSocket.inDirectory(directory)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    var configuration: String {
        """
        listen: ["127.0.0.1:0"]
        admin: { socket: \(directory)/larder.sock }
        cache: { path: \(directory)/store/larder.db }

        """
    }

    var log: String { (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? "" }

    func write(_ text: String) throws {
        try text.write(toFile: directory + "/larder.yaml", atomically: true, encoding: .utf8)
    }

    /// Starts `larder serve`; its standard error is added to `log`.
    func serve(_ configuration: String, environment: [String: String] = [:]) throws -> Process {
        try write(configuration)
        if !FileManager.default.fileExists(atPath: directory + "/log") {
            _ = FileManager.default.createFile(atPath: directory + "/log", contents: nil)
        }
        let log = try #require(FileHandle(forWritingAtPath: directory + "/log"))
        log.seekToEndOfFile()
        let process = Process()
        process.executableURL = try Home.program
        process.arguments = ["serve", "--config", directory + "/larder.yaml"]
        // Of the tests' own environment only what sanitizers are told.
        let sanitizers = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
        process.environment = ["NOTIFY_SOCKET": manager.name, "HOME": directory]
            .merging(sanitizers) { $1 }.merging(environment) { $1 }
        process.standardError = log
        try process.run()
        return process
    }

    /// The program that was built along with the tests.
    private static var program: URL {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            var place = URL(fileURLWithPath: tests).deletingLastPathComponent()
            // Where tests run inside a helper process, the build's directory is that of the bundle it was given.
            let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
            if let bundle { place = URL(fileURLWithPath: bundle).deletingLastPathComponent() }
            return place.appendingPathComponent("larder")
        }
    }
}
