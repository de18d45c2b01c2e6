// SPDX-License-Identifier: Apache-2.0
import Glibc

extension ByteStream {
    /// Writes up to four runs of bytes completely, in one system call if the kernel accepts all of them; otherwise
    /// waits. The bytes must stay in place until this returns.
    package func write(
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        _ third: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        _ fourth: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) async throws(IOError) {
        var parts = GatherList()
        parts.append(first)
        parts.append(second)
        parts.append(third)
        parts.append(fourth)
        try await write(parts)
    }

    /// Writes all bytes.
    package func write(_ octets: [UInt8]) async throws(IOError) {
        // The array's storage cannot be borrowed across a suspension; bytes that the kernel does not accept at once
        // are copied.
        var parts = GatherList()
        var rest: UnsafeMutableRawBufferPointer?
        let outcome: Result<Void, IOError> = octets.withUnsafeBytes { bytes in
            parts.append(bytes)
            do throws(IOError) {
                if try !tryWrite(&parts) {
                    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: parts.count, alignment: 16)
                    copy.copyMemory(from: parts.first)
                    rest = copy
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
        guard let rest else { return }
        defer { rest.deallocate() }
        try await write(UnsafeRawBufferPointer(rest))
    }

    /// Writes all of `parts`. Returns without suspending if the kernel accepts everything.
    package func write(_ parts: GatherList) async throws(IOError) {
        var parts = parts
        var left = parts.count
        while try !tryWrite(&parts) {
            if parts.count < left { renewDeadlines() }
            left = parts.count
            try await waitToWrite("write")
        }
    }

    /// Writes as much of `parts` as the kernel accepts now, and advances `parts` to the rest. True if that was all.
    ///
    /// Over TLS, bytes once offered must be offered again unchanged after a false.
    ///
    /// - Parameter endFollows: whether `shutdownWrite` comes next if that was all. The kernel then delays the last
    ///   bytes, and they are sent in one packet with the end.
    package func tryWrite(_ parts: inout GatherList, endFollows: Bool = false) throws(IOError) -> Bool {
        guard isOpen else { throw closedError("write") }
        if let tls { return try tls.write(&parts, of: self, endFollows: endFollows) }
        let flags = endFollows ? SocketKind.noSignal | SocketKind.more : SocketKind.noSignal
        while !parts.isEmpty {
            guard isWritable else { return false }
            let sent = send(&parts, flags)
            if sent >= 0 {
                isEmptyUnlessBroken = false
                parts.advance(by: sent)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: shown.isWritable = false
            default: throw IOError(errno: errno, operation: "write")
            }
        }
        return true
    }

    /// Writes all bytes if no other task is writing and the kernel accepts them at once. False if not, or if the
    /// connection is closed or broken.
    package func writeAtOnce(_ octets: StaticString) -> Bool {
        guard isOpen, !isWriting, tls == nil else { return false }
        var parts = GatherList()
        parts.append(UnsafeRawBufferPointer(start: octets.utf8Start, count: octets.utf8CodeUnitCount))
        return (try? tryWrite(&parts)) ?? false
    }

    private func send(_ parts: inout GatherList, _ flags: Int32) -> Int {
        if parts.partCount == 1 {
            let only = parts.first
            return Glibc.send(descriptor, only.baseAddress, only.count, flags)
        }
        let descriptor = descriptor
        return parts.withVectors { vectors, count in
            var message = msghdr()
            message.msg_iov = vectors
            message.msg_iovlen = count
            return sendmsg(descriptor, &message, flags)
        }
    }
}
