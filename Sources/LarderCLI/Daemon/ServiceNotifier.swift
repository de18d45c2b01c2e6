// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO

/// Reports the daemon's state to the service manager, by datagrams to its socket (sd_notify(3)).
///
/// Failures do not matter here: a manager that does not listen is as good as none.
struct ServiceNotifier: Sendable {
    /// The messages.
    enum Message: Sendable, Equatable {
        /// Started, or finished reloading.
        case ready
        /// A reload begins at this time of the monotonic clock.
        case reloading(monotonicNanoseconds: Int64)
        case stopping
        case watchdog
        /// One line of text.
        case status(String)
        /// The current operation may need that long from now on.
        case extendTimeout(Duration)

        var line: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let nanoseconds): "RELOADING=1\nMONOTONIC_USEC=\(nanoseconds / 1_000)"
            case .stopping: "STOPPING=1"
            case .watchdog: "WATCHDOG=1"
            case .status(let text): "STATUS=" + String(text.map { $0.isNewline ? " " : $0 })
            case .extendTimeout(let duration): "EXTEND_TIMEOUT_USEC=\(duration.wholeNanoseconds / 1_000)"
            }
        }
    }

    /// The path, or the name after a NUL for an abstract socket; nil without a manager.
    private let address: [UInt8]?

    /// - Parameter name: the value of `NOTIFY_SOCKET`: an absolute path, or `@` and the name of an abstract socket.
    init(socket name: String?) {
        guard let name, name.utf8.count > 1, name.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path),
            name.hasPrefix("/") || name.hasPrefix("@")
        else {
            address = nil
            return
        }
        address = name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8)
    }

    /// Sends the messages as one datagram. False when it could not be delivered.
    @discardableResult
    func send(_ messages: Message...) -> Bool {
        guard let address else { return false }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var system = sockaddr_un()
        system.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &system.sun_path) { $0.copyBytes(from: address) }
        // The length covers exactly the name: an abstract one has no terminator.
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
        let length = socklen_t(offset + address.count)
        let text = Array(messages.map(\.line).joined(separator: "\n").utf8)
        let sent = withUnsafePointer(to: &system) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, length)
            }
        }
        return sent == text.count
    }
}

/// The listening sockets a service manager opened before it started the daemon (sd_listen_fds(3)).
enum InheritedSockets {
    private static let first: Int32 = 3
    /// More than any unit has; a larger number is a mistake.
    private static let limit = 256
    static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    /// The descriptors passed to `process`; none if the variables name another one, or are malformed.
    static func descriptors(environment: [String: String], process: pid_t = getpid()) -> [Int32] {
        guard let owner = environment["LISTEN_PID"].flatMap({ pid_t($0) }), owner == process,
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), (1...limit).contains(count)
        else { return [] }
        return (0..<Int32(count)).map { first + $0 }
    }

    /// Removes the variables from the environment, so that no child process uses the sockets.
    static func forgetVariables() {
        for name in variables { unsetenv(name) }
    }
}

/// The service manager's watchdog: it restarts a daemon that has not reported for a while.
struct Watchdog: Sendable, Equatable {
    /// The manager's timeout.
    let patience: Duration

    /// - Parameters:
    ///   - environment: `WATCHDOG_USEC`, and `WATCHDOG_PID` if another process may be meant.
    ///   - process: this one.
    init?(environment: [String: String], process: pid_t = getpid()) {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 else {
            return nil
        }
        if let wanted = environment["WATCHDOG_PID"], pid_t(wanted) != process { return nil }
        patience = .microseconds(microseconds)
    }

    /// The interval between reports: half of the required one, so that one delay does no harm.
    var interval: Duration { patience / 4 }

    /// True if every loop makes progress. One that waits for the kernel does; one whose turn lasts for half of the
    /// timeout is stuck, and its clients wait as long.
    func isSatisfied(by loops: [LoopStatistics]) -> Bool {
        loops.allSatisfy { $0.currentTurn < patience / 2 }
    }
}
