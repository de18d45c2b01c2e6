// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// Bytes received and not yet consumed, in memory borrowed from the loop's pool while there are any.
///
/// Confined to its connection's loop.
final class ReadBuffer {
    private let pool: BufferPool
    private var memory: UnsafeMutableRawBufferPointer?
    private var start = 0
    private var end = 0

    init(pool: BufferPool) { self.pool = pool }

    deinit { release() }

    /// The bytes received and not yet consumed. Valid until the next call that changes the buffer.
    var readable: UnsafeRawBufferPointer {
        guard let memory else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(rebasing: memory[start..<end])
    }

    var isEmpty: Bool { start == end }
    var count: Int { end - start }

    /// Room for at least `minimum` bytes behind the readable ones.
    ///
    /// - Throws: `.outOfMemory`; the buffer is as before.
    func writable(minimum: Int) throws(IOError) -> UnsafeMutableRawBufferPointer {
        try reserve(minimum)
        // Holds: `reserve` has taken memory.
        return UnsafeMutableRawBufferPointer(rebasing: memory![end...])
    }

    func wrote(_ count: Int) { end += count }

    /// Appends bytes that were read elsewhere.
    func append(_ octets: UnsafeRawBufferPointer) throws(IOError) {
        guard !octets.isEmpty else { return }
        try writable(minimum: octets.count).copyMemory(from: octets)
        wrote(octets.count)
    }

    func consume(_ count: Int) {
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }

    /// Returns the memory while the buffer is empty: an idle connection needs none.
    func releaseIfEmpty() {
        if isEmpty { release() }
    }

    private func release() {
        guard let memory else { return }
        pool.giveBack(memory)
        self.memory = nil
        start = 0
        end = 0
    }

    private func reserve(_ minimum: Int) throws(IOError) {
        guard let current = memory else {
            memory = try pool.take(atLeast: minimum)
            return
        }
        if current.count - end >= minimum { return }
        if current.count - count >= minimum {
            current.copyMemory(from: readable)
        } else {
            let larger = try pool.take(atLeast: max(current.count * 2, count + minimum))
            larger.copyMemory(from: readable)
            pool.giveBack(current)
            memory = larger
        }
        end -= start
        start = 0
    }
}

/// Unused read buffers of one loop.
///
/// Peers determine how many there are. Where the system has no memory for another, the caller gets an error, and one
/// connection ends: Swift's own allocation would end the process.
final class BufferPool {
    /// The most bytes of one receive: the size of all pooled buffers.
    static let size = 16 << 10
    private var free: [UnsafeMutableRawBufferPointer] = []
    private let allocate: (Int) -> UnsafeMutableRawPointer?

    /// - Parameter allocate: like `malloc`, for tests.
    init(allocate: @escaping (Int) -> UnsafeMutableRawPointer? = { malloc($0) }) { self.allocate = allocate }

    deinit { free.forEach { Glibc.free($0.baseAddress) } }

    /// - Throws: `.outOfMemory`.
    func take(atLeast minimum: Int) throws(IOError) -> UnsafeMutableRawBufferPointer {
        if minimum <= BufferPool.size, let buffer = free.popLast() { return buffer }
        let count = max(minimum, BufferPool.size)
        guard let base = allocate(count) else { throw IOError(errno: ENOMEM, operation: "make room for input") }
        return UnsafeMutableRawBufferPointer(start: base, count: count)
    }

    func giveBack(_ buffer: UnsafeMutableRawBufferPointer) {
        if buffer.count == BufferPool.size, free.count < 64 {
            free.append(buffer)
        } else {
            Glibc.free(buffer.baseAddress)
        }
    }
}
