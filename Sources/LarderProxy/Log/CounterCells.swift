// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counters of one loop. Only that loop writes; any thread reads.
struct CounterCells: ~Copyable, Sendable {
    // Each cell is atomic; the pointer never changes.
    private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int

    init(count: Int) {
        self.count = count
        cells = .allocate(capacity: count)
        for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize(count: count)
        cells.deallocate()
    }

    subscript(cell: Int) -> UInt64 { cells[cell].load(ordering: .relaxed) }

    /// There is one writer, so a load and a store suffice.
    @inline(__always)
    func add(_ value: UInt64, to cell: Int) { cells[cell].store(self[cell] &+ value, ordering: .relaxed) }
}
