// SPDX-License-Identifier: Apache-2.0
import LarderIO

@testable import LarderStores

extension SQLiteStore {
    /// Has all reads be refused while `body` runs, as when too many wait.
    func refusingReads(_ body: () async throws -> Void) async rethrows {
        var hold = ReadsHeld(core)
        // A read of somebody else that came between would wait as long as `body` runs.
        while !hold.isWhole {
            hold.end()
            hold = ReadsHeld(core)
        }
        defer { hold.end() }
        try await body()
    }
}

/// Jobs that keep all threads that read and fill the queue before them.
private struct ReadsHeld {
    private let state = Monitor((begun: 0, ended: 0, isOver: false))
    private let jobs: Int
    /// Whether no other read waits behind the threads that are kept.
    let isWhole: Bool

    init(_ core: StoreCore) {
        let state = state
        func hold() -> Bool {
            core.readers.submit { _ in
                state.change { $0.begun += 1 }
                state.wait { $0.isOver ? .done(()) : .wait(until: nil) }
                state.change { $0.ended += 1 }
            }
        }
        var threads = 0
        while threads < core.settings.readers, hold() { threads += 1 }
        // No thread takes anything from the queue from now on.
        state.wait { [threads] in $0.begun == threads ? .done(()) : .wait(until: nil) }
        var queued = 0
        while hold() { queued += 1 }
        jobs = threads + queued
        isWhole = queued == core.settings.readQueueLimit
    }

    func end() {
        state.change { $0.isOver = true }
        state.wait { [jobs] in $0.ended == jobs ? .done(()) : .wait(until: nil) }
    }
}
