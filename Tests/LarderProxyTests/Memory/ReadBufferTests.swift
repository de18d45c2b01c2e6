// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO
@testable import LarderProxy

@Suite("Read buffers")
struct ReadBufferTests {
    /// A pool that gets as many buffers from the system as a test allows.
    final class Supply {
        var left = Int.max
        private(set) lazy var pool = BufferPool { [unowned self] count in
            guard left > 0 else { return nil }
            left -= 1
            return malloc(count)
        }
    }

    private func read(_ buffer: ReadBuffer) -> String { String(decoding: buffer.readable, as: UTF8.self) }

    private func append(_ text: String, to buffer: ReadBuffer) throws {
        try Array(text.utf8).withUnsafeBytes { try buffer.append($0) }
    }

    @Test func `what is appended is read in order and once`() throws {
        let supply = Supply()
        let buffer = ReadBuffer(pool: supply.pool)
        try append("one two ", to: buffer)
        buffer.consume(4)
        try append("three", to: buffer)
        #expect(read(buffer) == "two three")
        buffer.consume(9)
        #expect(buffer.isEmpty)
    }

    @Test func `without memory there is an error, and what is there stays`() throws {
        let supply = Supply()
        let buffer = ReadBuffer(pool: supply.pool)
        supply.left = 0
        #expect(throws: IOError.self) { try append("nothing", to: buffer) }
        #expect(buffer.isEmpty)
        supply.left = 1
        try append("something", to: buffer)
        // More than one buffer holds.
        let error = #expect(throws: IOError.self) { _ = try buffer.writable(minimum: BufferPool.size) }
        #expect(error?.code == .outOfMemory)
        #expect(read(buffer) == "something")
        supply.left = 1
        let text = String(repeating: "x", count: BufferPool.size)
        try append(text, to: buffer)
        #expect(read(buffer) == "something" + text)
    }

    @Test func `a buffer that was given back is used again`() throws {
        let supply = Supply()
        supply.left = 1
        for _ in 0..<3 {
            let buffer = ReadBuffer(pool: supply.pool)
            try append("octets", to: buffer)
            buffer.consume(6)
            buffer.releaseIfEmpty()
        }
    }
}
