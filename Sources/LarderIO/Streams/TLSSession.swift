// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Glibc

/// TLS on one stream: OpenSSL reads and writes the stream's socket itself. Confined to the stream's loop.
///
/// Either direction may need the other (a key update has to be answered): then it says so, and the stream waits
/// accordingly.
final class TLSSession {
    /// The most a TLS record carries (RFC 8446 §5.1).
    private static let recordLimit = 16384
    /// How many records are read at a time: they may have a byte each, and others wait meanwhile.
    private static let recordsAtOnce = 64

    let ssl: OpaquePointer
    /// The context of `ssl`, which OpenSSL calls back into.
    private let context: AnyObject
    /// `read` waits for room for output.
    private(set) var readNeedsRoom = false
    /// `write` and `handshake` wait for input.
    private(set) var writeNeedsInput = false
    /// Everything received has been looked at; only more can help.
    private var isStarved = false
    /// A fatal error: nothing may be sent any more (SSL_get_error(3)).
    private var isBroken = false
    /// The end was sent completely.
    private var isEnded = false
    /// The kernel waits for more before it sends what was written last.
    private var hasHeld = false
    /// The end or an error, if that came behind the bytes that were read last.
    private var follows: Result<Int, IOError>?

    /// True if it still reads what came before the session was made.
    private var hasEarly: Bool

    /// Takes over `ssl`, which is set up with the stream's socket.
    init(_ ssl: OpaquePointer, of context: AnyObject, hasEarly: Bool = false) {
        self.ssl = ssl
        self.context = context
        self.hasEarly = hasEarly
        SSL_set_read_ahead(ssl, 1)
    }

    deinit { SSL_free(ssl) }

    /// True if there is input that the socket's readiness does not show.
    var hasBufferedInput: Bool { follows != nil || !isStarved && SSL_has_pending(ssl) == 1 }

    /// Goes on with the handshake. True when it is done.
    func handshake(of stream: ByteStream) throws(IOError) -> Bool {
        ERR_clear_error()
        errno = 0
        // In TLS 1.3 the server's last messages are tickets, which can wait: the first response carries them along.
        let isLast = SSL_get_state(ssl) == TLS_ST_EARLY_DATA && SSL_is_server(ssl) == 1
        if isLast { hold(true) }
        var status = SSL_do_handshake(ssl)
        if isLast { hold(false) }
        if hasEarly, BIO_ctrl_pending(SSL_get_rbio(ssl)) == 0 {
            // Before the source is another one: the error is found out by asking it.
            let isStarved = status != 1 && SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ
            readFromSocket()
            if isStarved { status = SSL_do_handshake(ssl) }
        }
        if status == 1 {
            guard !hasEarly else { throw TLSFailure.setup("agree on TLS", "more came than a client may send") }
            isStarved = false
            // The input was the handshake's; the first write waits for none.
            writeNeedsInput = false
            return true
        }
        try takeNote(of: status, "agree on TLS", stream, reading: false)
        return false
    }

    /// Makes the kernel hold back later writes until more follows, or send them at once again.
    private func hold(_ isOn: Bool) {
        larder_ssl_hold(ssl, isOn ? 1 : 0)
        if isOn { hasHeld = true }
    }

    private func sendHeld(on stream: ByteStream) {
        guard hasHeld else { return }
        hasHeld = false
        larder_send_held(stream.descriptor)
    }

    /// Goes on with the socket, behind what was read from it before.
    private func readFromSocket() {
        hasEarly = false
        let socket = SSL_get_wbio(ssl)
        BIO_up_ref(socket)
        SSL_set0_rbio(ssl, socket)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, of stream: ByteStream) throws(IOError) -> Int? {
        if let follows { return try follows.get() }
        guard readNeedsRoom ? stream.isWritable : stream.isReadable || hasBufferedInput else { return nil }
        guard var filled = try readRecord(into: buffer, of: stream) else { return nil }
        var records = 1
        while filled > 0, filled < buffer.count, records < Self.recordsAtOnce, SSL_has_pending(ssl) == 1 {
            records += 1
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            do throws(IOError) {
                guard let count = try readRecord(into: room, of: stream) else { break }
                if count == 0 {
                    follows = .success(0)
                    break
                }
                filled += count
            } catch {
                follows = .failure(error)
                break
            }
        }
        return filled
    }

    /// Reads the rest of a record, or of the next one. 0 is the end, nil means that no byte is available yet.
    private func readRecord(into room: UnsafeMutableRawBufferPointer, of stream: ByteStream) throws(IOError) -> Int? {
        ERR_clear_error()
        errno = 0
        var count = 0
        let status = SSL_read_ex(ssl, room.baseAddress, room.count, &count)
        if status == 1 {
            readNeedsRoom = false
            isStarved = false
            return count
        }
        return try takeNote(of: status, "read over TLS", stream, reading: true) ? 0 : nil
    }

    /// True if there are bytes for the application, an end or an error. Takes in everything else, such as tickets.
    func hasInput(of stream: ByteStream) -> Bool {
        if follows != nil { return true }
        guard stream.isReadable || hasBufferedInput else { return false }
        ERR_clear_error()
        errno = 0
        var octet: UInt8 = 0
        var count = 0
        let status = SSL_peek_ex(ssl, &octet, 1, &count)
        if status == 1 { return true }
        do throws(IOError) {
            return try takeNote(of: status, "look for input", stream, reading: true)
        } catch {
            return true
        }
    }

    /// - Parameter endFollows: whether `sendCloseNotify`, and the end of our side, come next if that was all.
    func write(_ parts: inout GatherList, of stream: ByteStream, endFollows: Bool) throws(IOError) -> Bool {
        while !parts.isEmpty {
            guard writeNeedsInput ? stream.isReadable : stream.isWritable else { return false }
            ERR_clear_error()
            errno = 0
            var count = 0
            // All records of one write share packets.
            let isLast = parts.count <= Self.recordLimit && !endFollows
            if !isLast { hold(true) }
            defer { if !isLast { hold(false) } }
            let status: Int32
            if parts.partCount == 1 || parts.first.count >= Self.recordLimit {
                status = SSL_write_ex(ssl, parts.first.baseAddress, parts.first.count, &count)
            } else {
                // Several small parts share a record, so that head and content leave together.
                let scratch = stream.executor.recordScratch
                let filled = parts.copy(into: scratch)
                status = SSL_write_ex(ssl, scratch.baseAddress, filled, &count)
            }
            if status == 1 {
                writeNeedsInput = false
                parts.advance(by: count)
                if isLast { hasHeld = false }
            } else if try takeNote(of: status, "write over TLS", stream, reading: false) {
                throw IOError(.connectionReset, operation: "write over TLS", detail: "the peer has ended the session")
            }
        }
        return true
    }

    /// Tells the peer that nothing follows, as far as the socket takes it now.
    ///
    /// - Parameter endFollows: whether the end of our side of the connection comes next, and sends what is held.
    func sendCloseNotify(endFollows: Bool = false) {
        guard !isBroken, !isEnded, SSL_is_init_finished(ssl) == 1 else { return }
        ERR_clear_error()
        if endFollows { hold(true) }
        isEnded = SSL_shutdown(ssl) >= 0
        if endFollows { hold(false) }
        ERR_clear_error()
    }

    /// Remembers what is to be waited for. True at the orderly end of the session.
    @discardableResult
    private func takeNote(
        of status: Int32, _ operation: String, _ stream: ByteStream, reading: Bool
    ) throws(IOError) -> Bool {
        let number = errno
        let kind = SSL_get_error(ssl, status)
        switch kind {
        case SSL_ERROR_WANT_READ:
            stream.isReadable = false
            isStarved = true
            if reading { readNeedsRoom = false } else { writeNeedsInput = true }
            sendHeld(on: stream)
            return false
        case SSL_ERROR_WANT_WRITE:
            stream.shown.isWritable = false
            if reading { readNeedsRoom = true } else { writeNeedsInput = false }
            return false
        case SSL_ERROR_ZERO_RETURN: return true
        default:
            isBroken = true
            // The alert, which says why.
            sendHeld(on: stream)
            throw TLSFailure.last(operation, on: ssl, kind: kind, errno: number)
        }
    }
}
