// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

extension ByteStream {
    /// Reads some bytes, waiting for the first. 0 is the end of the stream.
    ///
    /// `buffer` must have room, and stay in place until this returns.
    package func read(into buffer: UnsafeMutableRawBufferPointer) async throws(IOError) -> Int {
        while true {
            if let count = try tryRead(into: buffer) {
                await giveWay()
                return count
            }
            try await waitToRead("read")
        }
    }

    /// Lets others run if a peer has had many turns in a row, because it sends faster than it is read, or in small
    /// pieces. Called between reads. An interruption does not end this wait: a caller that may be interrupted checks
    /// for that afterwards.
    package func giveWay() async {
        guard shallGiveWay else { return }
        readsInARow = 0
        await withUnsafeContinuation { continuation in executor.afterPoll { continuation.resume() } }
    }

    private static let readsInATurn = 16

    /// True if others are to have a turn before it is read again.
    package var shallGiveWay: Bool { readsInARow >= Self.readsInATurn }

    /// Suspends until there is something to read, the end included; so an idle connection needs no buffer.
    ///
    /// A promise as good as the kernel's: `tryRead` may still find nothing, over TLS in particular.
    package func waitReadable() async throws(IOError) {
        // The kernel may have bytes of TLS's own, and whoever is called first may take what comes for the application.
        if let tls, tls.hasInput(of: self) { return }
        try await waitToRead("read")
    }

    /// Reads the available bytes without waiting. 0 is the end of the stream, nil means that no byte is available yet.
    package func tryRead(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> Int? {
        let count = try receive(into: buffer)
        readsInARow = count == nil ? 0 : readsInARow + 1
        return count
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> Int? {
        guard isOpen else { throw closedError("read") }
        // Holds: readers bring room that they have just made.
        precondition(buffer.count > 0, "reading needs room")
        if let tls { return try tls.read(into: buffer, of: self) }
        guard isReadable || breakWasMissed() else { return nil }
        while true {
            let count = Glibc.recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 {
                // Less than there was room for: the socket is drained, and the kernel will report what comes
                // next. Not so once the peer has closed: there is no further report, so read on to the end.
                if count < buffer.count, count > 0, !isPeerClosed {
                    isReadable = false
                    isEmptyUnlessBroken = true
                }
                return count
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                isReadable = false
                return nil
            default: throw IOError(errno: errno, operation: "read")
            }
        }
    }

    /// True if the connection broke together with the bytes that were read last. Costs a system call, once.
    private func breakWasMissed() -> Bool {
        guard isEmptyUnlessBroken else { return false }
        isEmptyUnlessBroken = false
        guard hasBroken else { return false }
        isReadable = true
        return true
    }

    /// Reports a break that came in one event with bytes: the kernel does not report it again. Asks the kernel if the
    /// break is not known.
    func reportMissedBreak() {
        guard isReadable || isEmptyUnlessBroken || tls != nil, let socketEvent, hasBroken else { return }
        event_active(socketEvent, EV_READ | EV_WRITE, 0)
    }

    /// True if the socket has a pending error, which is left in place for the next read.
    var hasBroken: Bool {
        var query = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&query, 1, 0) > 0 && Int32(query.revents) & (POLLERR | POLLHUP) != 0
    }

    /// True if something is there to be read: bytes, the end or an error. Reads nothing, but asks the kernel if it
    /// is not known, and lets TLS take in what is only its own. A connection that has it is not fit to be used again.
    package var hasPendingInput: Bool {
        guard isOpen else { return true }
        if let tls { return tls.hasInput(of: self) }
        guard isReadable || breakWasMissed() else { return false }
        var octet: UInt8 = 0
        guard recv(descriptor, &octet, 1, SocketKind.peek) < 0, errno == EAGAIN else { return true }
        isReadable = false
        return false
    }

    /// True if a read may find something, as far as the kernel has reported. Over TLS it is not known.
    package var mayHaveInput: Bool { isReadable || tls != nil }

    /// Makes the next read ask the kernel, regardless of earlier reports: input of this turn is not reported yet.
    package func lookAgain() { isReadable = true }

    /// True if the peer's system has not acknowledged all written bytes. Anything received until then was sent before
    /// the peer could have read those bytes: each segment acknowledges all bytes that had arrived.
    package var hasUnconfirmedOutput: Bool { isOpen && larder_unconfirmed(descriptor) > 0 }

    /// Closes the stream so that the peer surely gets to read what was written last.
    ///
    /// Bytes that arrive unread at a closed socket make the kernel send a reset, which may overtake our last
    /// answer (RFC 9112 §9.6). So: end our side, read away what still comes, at most `limit` bytes and for at
    /// most `duration`, then close.
    package func closeGracefully(within duration: Duration, discarding limit: Int = 1 << 20) async {
        guard isOpen else { return }
        shutdownWrite()
        setDeadline(after: duration)
        var rest = limit
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 8192, alignment: 16)
        defer { scratch.deallocate() }
        while rest > 0 {
            guard let count = try? await read(into: scratch), count > 0 else { break }
            rest -= count
        }
        close()
    }
}
