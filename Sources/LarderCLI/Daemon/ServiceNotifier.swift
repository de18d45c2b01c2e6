// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP

/// Reports the daemon's state to the service manager, by datagrams to its socket (sd_notify(3)).
///
/// Failures do not matter here: a manager that does not listen is as good as none.
struct ServiceNotifier: Sendable {
    /// The messages.
    enum Message: Sendable, Equatable {
        /// Started, or finished reloading.
        case ready
        /// A reload begins; the time is that of the monotonic clock.
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
