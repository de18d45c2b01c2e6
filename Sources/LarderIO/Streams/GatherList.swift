// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Runs of bytes for one write, in order: in one system call if there are few, in several if the kernel does not
/// accept so many at once. Up to four need no allocation.
///
/// It does not retain the bytes: its owner keeps them in place until they are written.
package struct GatherList {
    /// The most runs of one system call; the kernel's limit is 1024 (IOV_MAX).
    private static let callLimit = 256
    private static let inlineLimit = 4

    private var inline = InlineArray<4, iovec>(repeating: iovec(iov_base: nil, iov_len: 0))
    /// All runs, once there are more than four.
    private var spill: [iovec] = []
    /// Runs added so far, and the first of them not yet written.
    private var end = 0
    private var start = 0
    /// Bytes not yet written.
    package private(set) var count = 0

    package init() {}

    /// True when all has been written.
    package var isEmpty: Bool { count == 0 }

    /// Adds a run after the others; an empty one is left out.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        let vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: base), iov_len: bytes.count)
        if end < Self.inlineLimit {
            inline[end] = vector
        } else {
            if end == Self.inlineLimit {
                spill.reserveCapacity(16)
                for index in 0..<Self.inlineLimit { spill.append(inline[index]) }
            }
            spill.append(vector)
        }
        end += 1
        count += bytes.count
    }

    /// The number of runs that still have bytes to write.
    var partCount: Int { end - start }

    /// The run that is next to be written.
    var first: UnsafeRawBufferPointer {
        guard start < end else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let vector = self[start]
        return UnsafeRawBufferPointer(start: vector.iov_base, count: vector.iov_len)
    }

    /// Calls `body` with the first unwritten runs, up to the limit of one system call, in the kernel's form.
    mutating func withVectors<Result>(_ body: (UnsafeMutablePointer<iovec>, Int) -> Result) -> Result {
        let (start, rest) = (start, min(partCount, Self.callLimit))
        if end <= Self.inlineLimit {
            var span = inline.mutableSpan
            return span.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.map { body($0 + start, rest) }
            } ?? empty(body)
        }
        return spill.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { body($0 + start, rest) }
        } ?? empty(body)
    }

    /// Copies as much as fits, from the first byte not yet written. Returns the number of bytes.
    func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        var index = start
        while index < end, filled < buffer.count {
            let vector = self[index]
            let length = min(vector.iov_len, buffer.count - filled)
            if let base = vector.iov_base {
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<(filled + length)])
                    .copyMemory(from: UnsafeRawBufferPointer(start: base, count: length))
            }
            filled += length
            index += 1
        }
        return filled
    }

    /// The bytes not yet written, as a copy.
    package func copied() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = copy(into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Advances past `written` bytes that have been written.
    mutating func advance(by written: Int) {
        count -= written
        var rest = written
        while rest > 0 {
            var vector = self[start]
            if rest < vector.iov_len {
                vector.iov_base = vector.iov_base.map { $0 + rest }
                vector.iov_len -= rest
                self[start] = vector
                return
            }
            rest -= vector.iov_len
            start += 1
        }
    }

    private subscript(index: Int) -> iovec {
        get { end <= Self.inlineLimit ? inline[index] : spill[index] }
        set {
            if end <= Self.inlineLimit { inline[index] = newValue } else { spill[index] = newValue }
        }
    }

    private func empty<Result>(_ body: (UnsafeMutablePointer<iovec>, Int) -> Result) -> Result {
        var none = iovec(iov_base: nil, iov_len: 0)
        return body(&none, 0)
    }
}
