// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// Writes lines to a descriptor on a thread of its own, so that logging never waits for the reader of the log.
///
/// The queue is limited to a mebibyte. Lines beyond it, and lines for which the disk has no space, are dropped and
/// counted, and the log reports the count. A partly written line is completed before others.
final class LogWriter: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var lost = 0
        /// True if `waiting` begins within a line.
        var isTorn = false
        /// True if the thread has been scheduled.
        var isScheduled = false
        var isClosing = false
    }

    static let limit = 1 << 20
    /// A pipe that has room at all has room for so many bytes.
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
        while let (octets, lost) = take() {
            guard settle(write(octets), of: octets, reporting: lost) else { return }
        }
    }

    /// All that waits, and how many lost lines it reports at its end.
    private func take() -> (octets: [UInt8], lost: Int)? {
        state.withLock { state in
            if state.waiting.isEmpty, state.lost == 0 {
                state.isScheduled = false
                return nil
            }
            var octets: [UInt8] = []
            swap(&octets, &state.waiting)
            let lost = state.lost
            if lost > 0 {
                let lines = Quantity.count(lost, "log line was", "log lines were")
                octets +=
                    "\(lines) dropped: whoever reads the log is too slow, or the disk is full\n".utf8
                state.lost = 0
            }
            return (octets, lost)
        }
    }

    /// Drops the lines of `rest`, which could not be written; the next line tries again. False when there were some.
    private func settle(_ rest: ArraySlice<UInt8>, of octets: [UInt8], reporting lost: Int) -> Bool {
        let newline = UInt8(ascii: "\n")
        return state.withLock { state in
            if let last = octets[..<rest.startIndex].last { state.isTorn = last != newline }
            guard !rest.isEmpty else { return true }
            let torn = state.isTorn ? rest.prefix { $0 != newline } + [newline] : []
            let dropped = rest.dropFirst(torn.count).count { $0 == newline }
            state.waiting.insert(contentsOf: torn, at: 0)
            // The last dropped line is the report.
            state.lost += lost > 0 && dropped > 0 ? dropped - 1 + lost : dropped
            state.isScheduled = false
            return false
        }
    }

    /// Returns the rest that could not be written.
    private func write(_ octets: [UInt8]) -> ArraySlice<UInt8> {
        var rest = octets[...]
        while !rest.isEmpty {
            guard hasRoom() else { break }
            let count = rest.prefix(LogWriter.piece).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            // An unreadable log is no reason to stop.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return rest
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
