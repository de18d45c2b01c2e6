// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// Writes lines to a descriptor on a thread of its own, so that logging never waits for the reader of the log.
///
/// The queue is limited to a mebibyte; further lines are dropped and counted, and the log reports it.
final class LogWriter: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var lost = 0
        /// Whether the thread has been scheduled.
        var isScheduled = false
        var isClosing = false
    }

    static let limit = 1 << 20
    /// A pipe that has room at all has room for so many octets.
    private static let piece = Int(PIPE_BUF)

    private let descriptor: Int32
    private let state = Lock(State())
    private let thread = WorkerPool(name: "larder-log", threads: 1, queueLimit: 16)

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Queues a complete line.
    func write(_ line: String) {
        let mustSchedule = state.withLock { state in
            guard state.waiting.count + line.utf8.count <= LogWriter.limit else {
                state.lost += 1
                return false
            }
            state.waiting += line.utf8
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule, !thread.submit({ self.drain() }) { drain() }
    }

    /// Writes queued lines, unless their reader takes none for a second, and ends the thread. Later lines are written at
    /// once.
    func close() {
        state.withLock { $0.isClosing = true }
        thread.shutdown()
    }

    private func drain() {
        while let octets = take() { write(octets) }
    }

    private func take() -> [UInt8]? {
        state.withLock { state in
            if state.waiting.isEmpty, state.lost == 0 {
                state.isScheduled = false
                return nil
            }
            var octets: [UInt8] = []
            swap(&octets, &state.waiting)
            if state.lost > 0 {
                octets += "\(state.lost) log lines were dropped: whoever reads the log is too slow\n".utf8
                state.lost = 0
            }
            return octets
        }
    }

    private func write(_ octets: [UInt8]) {
        var rest = octets[...]
        while !rest.isEmpty {
            guard hasRoom() else { return }
            let count = rest.prefix(LogWriter.piece).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            // An unreadable log is no reason to stop.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until a piece can be written at once. False when the log is being closed and its reader takes nothing.
    private func hasRoom() -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = poll(&wanted, 1, 1_000)
            if count > 0 || count < 0 && errno != EINTR { return true }
            if count == 0, state.withLock({ $0.isClosing }) { return false }
        }
    }
}
