// SPDX-License-Identifier: Apache-2.0
import LarderIO

@testable import LarderStores

extension SQLiteStore {
    /// Has all reads be refused while `body` runs, as when too many wait.
    func refusingReads(_ body: () async throws -> Void) async rethrows {
        let state = Monitor((begun: 0, ended: 0, isOver: false))
        func hold() -> Bool {
            core.readers.submit { _ in
                state.change { $0.begun += 1 }
                state.wait { $0.isOver ? .done(()) : .wait(until: nil) }
                state.change { $0.ended += 1 }
            }
        }
        var jobs = 0
        while jobs < core.settings.readers, hold() { jobs += 1 }
        // No thread takes anything from the queue from now on.
        state.wait { [jobs] in $0.begun == jobs ? .done(()) : .wait(until: nil) }
        while hold() { jobs += 1 }
        defer {
            state.change { $0.isOver = true }
            state.wait { [jobs] in $0.ended == jobs ? .done(()) : .wait(until: nil) }
        }
        try await body()
    }
}
