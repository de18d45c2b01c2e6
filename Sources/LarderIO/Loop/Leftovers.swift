// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// What something confined to a loop held, when its last reference goes away on another thread or after the
/// loop's end: to be given back where it belongs.
// @unchecked: made by the last owner and used once, on the loop or, once that has ended, by whoever was last.
struct Leftovers: @unchecked Sendable {
    var descriptors: [Int32] = []
    var events: [OpaquePointer] = []
    var timers: [Timer] = []
    var others: [AnyObject] = []
    var last: () -> Void = {}

    func dispose(on executor: LoopExecutor) {
        executor.enqueueOrRun {
            for timer in timers { timer.cancel() }
            for event in events { event_free(event) }
            for descriptor in descriptors { Glibc.close(descriptor) }
            last()
        }
    }
}
