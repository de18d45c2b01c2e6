// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO

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

    /// Whether every loop makes progress. One that waits for the kernel does; one whose turn lasts for half of the
    /// timeout is stuck, and its clients wait as long.
    func isSatisfied(by loops: [LoopStatistics]) -> Bool {
        loops.allSatisfy { $0.currentTurn < patience / 2 }
    }
}
