// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// The resources of an object confined to a loop, when its last reference is released on another thread or after the
/// loop's end: they are freed on the loop.
// @unchecked: made by the last owner and used once, on the loop or, after its end, by that owner.
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
