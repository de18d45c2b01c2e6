// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO

/// The daemon's wall clock for the services of the model: programs and clients see the same times in caches.
struct DaemonClock: ModelClock {
    private let time: any TimeSource

    init(_ time: any TimeSource) { self.time = time }

    var now: Timestamp { Timestamp(nanoseconds: time.now()) }

    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        SystemModelClock().schedule(after: delay, action)
    }
}
