// SPDX-License-Identifier: Apache-2.0

import DequeModule
import LarderHTTP
import LarderIO

/// The connections of one loop to one origin (through one parent): idle ones, a count of those in use, and who
/// waits for one. Confined to its loop.
final class OriginPool {
    let origin: Origin
    private var idle: [UpstreamConnection] = []
    /// Connections in use or being made.
    private(set) var active = 0
    private var waiters: Deque<UnsafeContinuation<Confined<Grant>, Never>> = []
    private(set) var requests: UInt64 = 0
    private(set) var failures: UInt64 = 0
    private(set) var lastError: String?

    /// What a request gets from the pool.
    enum Grant {
        case reuse(UpstreamConnection)
        /// There is room: make a connection. It counts as active already.
        case connect
        case refused
    }

    init(origin: Origin) { self.origin = origin }

    var isUnused: Bool { idle.isEmpty && active == 0 && waiters.isEmpty }

    var statistics: UpstreamStatistics {
        UpstreamStatistics(
            origin: "\(origin)", active: active, idle: idle.count, waiting: waiters.count, requests: requests,
            failures: failures, lastError: lastError)
    }

    /// An idle connection that is still clean, the right to make one, or, at the limit, a wait in line.
    func take(limit: Int, waiterLimit: Int, now: Int64, maximumIdle: Duration, freshOnly: Bool) async -> Grant {
        requests += 1
        while !freshOnly, let connection = idle.popLast() {
            guard connection.isClean, now - connection.idleSince < maximumIdle.wholeNanoseconds else {
                connection.stream.close()
                continue
            }
            active += 1
            return .reuse(connection)
        }
        if active < limit {
            active += 1
            return .connect
        }
        guard waiters.count < waiterLimit else { return .refused }
        return await withUnsafeContinuation { waiters.append($0) }.value
    }

    func giveBack(_ connection: UpstreamConnection) {
        guard connection.isClean else {
            connection.stream.close()
            closed()
            return
        }
        if let waiter = waiters.popFirst() { return waiter.resume(returning: Confined(.reuse(connection))) }
        active -= 1
        connection.idleSince = connection.monotonicNow()
        connection.stream.setDeadline(after: nil)
        idle.append(connection)
    }

    /// A connection in use is gone.
    func closed() {
        if let waiter = waiters.popFirst() { return waiter.resume(returning: Confined(.connect)) }
        active -= 1
    }

    func noteFailure(_ error: UpstreamError) {
        failures += 1
        lastError = "\(error)"
    }

    /// Closes idle connections that have waited longer than `maximum`, or that are not clean any more.
    func sweep(now: Int64, maximum: Duration) {
        idle.removeAll { connection in
            let isSpent = !connection.isClean || now - connection.idleSince >= maximum.wholeNanoseconds
            if isSpent { connection.stream.close() }
            return isSpent
        }
    }

    func closeIdle() {
        idle.forEach { $0.stream.close() }
        idle = []
    }
}
