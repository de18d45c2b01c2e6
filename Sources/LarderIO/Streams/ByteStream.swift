// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// A connected stream of bytes over TCP, a Unix socket or TLS.
///
/// It lives on one loop and is used there only. One task may wait to read while another waits to write. If two tasks
/// wait to read, or two to write, the second gets an error, `.contended`, which the loop reports as an internal one.
/// Waits end by data, by a deadline, by an interruption or by `close`, never by cancelling a task.
///
/// The socket's events are registered once, edge-triggered, for the life of the stream, at the latest with the first
/// wait; the kernel's latest report is kept in `isReadable` and `isWritable`, so that a request costs one receive, one
/// send and nothing else.
package final class ByteStream {
    let executor: LoopExecutor
    /// The socket, or -1 once closed.
    private(set) var descriptor: Int32
    /// Nil while nothing has waited for the socket yet.
    private(set) var socketEvent: OpaquePointer?

    /// The kernel has reported input, or has not been polled yet, and no read has found it empty since.
    var isReadable = false
    /// The socket counts as empty because a receive did not fill its buffer. A reset in the same event as those bytes
    /// looks like bytes alone and is not reported again; a send that succeeds afterwards rules it out.
    var isEmptyUnlessBroken = false
    /// How often it was read since others last had a turn.
    var readsInARow = 0
    /// See `isWritable` and what follows it.
    var shown = Shown()

    private var reader = Waiter()
    private var writer = Waiter()
    /// Under TLS, a reader may wait for room while a writer waits for room, and a writer for input while a reader does.
    private var readerForRoom = Waiter()
    private var writerForInput = Waiter()

    /// True if a task waits for room to write the rest of something.
    package var isWriting: Bool { writer.isOccupied || writerForInput.isOccupied }
    private var isReading: Bool { reader.isOccupied || readerForRoom.isOccupied || watcher != nil }

    /// When waits end with `.timedOut`.
    var deadlines = StreamDeadlines()
    /// The other end of a tunnel: what moves at one of them puts off the deadlines of both.
    package weak var partner: ByteStream?
    var deadlineTimer: Timer?
    /// When the timer checks the deadlines, or `.max`.
    var deadlineTimerDue = Int64.max

    /// The TLS session on this socket, if there is one.
    var tls: TLSSession?

    /// Waits for input in place of a task.
    private var watcher: ((Bool) -> Void)?

    /// Made with the first event or timer.
    private var callee: Callee<ByteStream>?
    private var knownPeer: SocketAddress?
    private let knownLocal: SocketAddress?

    /// Takes ownership of a connected socket, which the stream closes.
    ///
    /// Fails if the loop cannot watch the descriptor; it is closed then.
    package convenience init(
        adopting descriptor: Int32, on loop: isolated EventLoop, peer: SocketAddress? = nil
    ) throws(IOError) {
        try self.init(adopting: descriptor, on: loop.executor, peer: peer, isNonBlocking: false)
    }

    /// The same for callers on the loop that the compiler cannot see to be there.
    init(
        adopting descriptor: Int32, on executor: LoopExecutor, peer: SocketAddress?, isNonBlocking: Bool
    ) throws(IOError) {
        self.descriptor = descriptor
        self.executor = executor
        knownPeer = peer
        knownLocal = nil
        if !isNonBlocking { setNonBlocking(descriptor) }
        if peer?.isUnix != true { setNoDelay(descriptor) }
        try observe()
    }

    /// Takes ownership of a socket that a listener accepted, which is non-blocking and inherits the listener's options.
    ///
    /// It may be read and written at once: often the request is there already, and no wait precedes the close.
    init(accepted descriptor: Int32, on executor: LoopExecutor, peer: SocketAddress?, local: SocketAddress?) {
        self.descriptor = descriptor
        self.executor = executor
        knownPeer = peer
        knownLocal = local
        isReadable = true
    }

    func reachable() -> Callee<ByteStream> {
        let found = callee ?? Callee(self)
        callee = found
        return found
    }

    /// Registers the socket's events with the kernel, past ones included. Fails, and closes the stream, if it cannot.
    func observe() throws(IOError) {
        guard isOpen, socketEvent == nil else { return }
        let kinds = Int16(EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST)
        socketEvent = event_new(executor.base, descriptor, kinds, socketChanged, reachable().argument)
        guard let socketEvent, event_add(socketEvent, nil) == 0 else {
            let number = errno
            close()
            throw IOError(errno: number == 0 ? EINVAL : number, operation: "watch a socket")
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        if executor.isOnThread { return close() }
        // The last reference was released elsewhere, for example by a task of another loop or on a stopped loop.
        callee?.end()
        let others: [AnyObject?] = [tls, callee]
        Leftovers(
            descriptors: [descriptor], events: socketEvent.map { [$0] } ?? [],
            timers: deadlineTimer.map { [$0] } ?? [], others: others.compactMap(\.self)
        ).dispose(on: executor)
    }

    /// True if `close` or `reset` has not been called yet.
    package var isOpen: Bool { descriptor >= 0 }

    // MARK: Closing

    /// Half-closes the stream: the peer reads the written bytes and then the end. Reading continues.
    package func shutdownWrite() {
        guard isOpen else { return }
        tls?.sendCloseNotify(endFollows: true)
        Glibc.shutdown(descriptor, SocketKind.ourSide)
    }

    /// Closes the stream. Pending waits throw `.closed`; no callback of this stream is called afterwards.
    /// It may be called from anywhere on the loop, its own callbacks included: libevent removes a deleted event from
    /// the events of this turn, and the descriptor is closed only after that.
    package func close() {
        guard isOpen else { return }
        tls?.sendCloseNotify()
        tearDown()
    }

    /// Closes the stream so that the peer sees a broken connection (RST) rather than an end.
    ///
    /// This signals incomplete content where the protocol has no other way.
    package func reset() {
        guard isOpen else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        tearDown()
    }

    private func tearDown() {
        shown.onPeerClosed = nil
        shown.onInputWhileWaiting = nil
        deadlineTimer?.cancel()
        deadlineTimer = nil
        if let socketEvent { event_free(socketEvent) }
        socketEvent = nil
        Glibc.close(descriptor)
        descriptor = -1
        isReadable = false
        tls = nil
        endWaits(.closed)
    }

    /// Ends the pending waits with `.closed`, leaving the stream open: to drain idle connections.
    package func interruptWaits() { endWaits(.interrupted) }

    /// The same for a wait to read alone.
    package func interruptReading() { endReading(.interrupted) }

    private func endWaits(_ end: WaitEnd) {
        endReading(end)
        endWriting(end)
    }

    func endReading(_ end: WaitEnd) {
        inputChanged(end)
        readerForRoom.end(end).resume()
    }

    func endWriting(_ end: WaitEnd) {
        writer.end(end).resume()
        writerForInput.end(end).resume()
    }

    /// Calls `body` on the loop, once, instead of resuming a task: with true when there is input, with false when a
    /// wait would have failed. Returns false, without keeping `body`, if a task waits or no wait is needed.
    ///
    /// An idle connection thus needs no task, which takes more memory than everything else of a connection.
    package func watch(_ body: @escaping (Bool) -> Void) -> Bool {
        guard isOpen, !isReadable, !isReading, tls?.hasBufferedInput != true, tls?.readNeedsRoom != true,
            (try? observe()) != nil
        else { return false }
        watcher = body
        return true
    }

    /// Cancels `watch`, for a stream that is to be read again.
    package func unwatch() { watcher = nil }

    /// Ends the wait for input. False if there was none.
    @discardableResult
    private func inputChanged(_ end: WaitEnd) -> Bool {
        guard let watcher else { return reader.end(end).resume() }
        self.watcher = nil
        watcher(end == .ready)
        return true
    }

    // MARK: Addresses

    /// The address of the peer.
    package var peerAddress: SocketAddress {
        if let knownPeer { return knownPeer }
        let address = SocketAddress.of(descriptor, ask: getpeername)
        knownPeer = address
        return address
    }

    /// The user id of the process at the other end of a Unix socket, as of its connection.
    package var peerUser: UInt32? {
        var user: uid_t = 0
        // TCP sockets also answer, with the id -1.
        return larder_peer_user(descriptor, &user) == 0 && user != .max ? user : nil
    }

    /// True while a TCP connection is open on our side: the peer has not reset it. A later connection may have the
    /// addresses of a connection that was reset.
    package var isConnected: Bool {
        var state: UInt8 = 0
        var length = socklen_t(1)
        // The first byte is the state (linux/tcp_states.h): ESTABLISHED, or CLOSE_WAIT once the peer has ended its side.
        return getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &state, &length) == 0 && (state == 1 || state == 8)
    }

    /// The address of our own end.
    package var localAddress: SocketAddress { knownLocal ?? SocketAddress.of(descriptor, ask: getsockname) }

    // MARK: Waiting

    /// Suspends until the stream is readable.
    func waitToRead(_ operation: StaticString) async throws(IOError) {
        let needsRoom = tls?.readNeedsRoom == true
        if needsRoom ? isWritable : isReadable { return }
        try checkMayWait(operation, until: deadlines.read)
        guard !isReading else { throw contention(operation) }
        if needsRoom, readerForRoom.arrive() {
            try check(await withUnsafeContinuation { readerForRoom.suspended($0).resume() }, operation)
        } else if reader.arrive() {
            try check(await withUnsafeContinuation { reader.suspended($0).resume() }, operation)
        }
    }

    /// Suspends until the stream is writable.
    func waitToWrite(_ operation: StaticString) async throws(IOError) {
        let needsInput = tls?.writeNeedsInput == true
        if needsInput ? isReadable : isWritable { return }
        try checkMayWait(operation, until: deadlines.write)
        guard !isWriting else { throw contention(operation) }
        noteUntaken()
        if needsInput, writerForInput.arrive() {
            try check(await withUnsafeContinuation { writerForInput.suspended($0).resume() }, operation)
        } else if writer.arrive() {
            try check(await withUnsafeContinuation { writer.suspended($0).resume() }, operation)
        }
    }

    private func checkMayWait(_ operation: StaticString, until deadline: Int64) throws(IOError) {
        guard isOpen else { throw closedError(operation) }
        if deadline != .max, deadline <= executor.monotonicNow() { try check(.timedOut, operation) }
        try observe()
    }

    private func contention(_ operation: StaticString) -> IOError {
        let error = IOError(.contended, operation: "\(operation)", detail: "another task waits for the same")
        executor.onFault?(error)
        return error
    }

    private func check(_ end: WaitEnd, _ operation: StaticString) throws(IOError) {
        switch end {
        case .ready: return
        case .timedOut: throw IOError(.timedOut, operation: "\(operation)", detail: "the deadline passed")
        case .interrupted: throw IOError(.closed, operation: "\(operation)", detail: "the wait was interrupted")
        case .closed: throw closedError(operation)
        }
    }

    func closedError(_ operation: StaticString) -> IOError {
        IOError(.closed, operation: "\(operation)", detail: "the stream was closed on our side")
    }

    // MARK: Events

    fileprivate func changed(_ kinds: Int32) {
        executor.noteTurn()
        if kinds & EV_CLOSED != 0 { shown.isPeerClosed = true }
        if kinds & (EV_READ | EV_CLOSED) != 0 {
            isReadable = true
            if tls != nil { writerForInput.end(.ready).resume() }
            let isAwaited = reader.isOccupied || watcher != nil
            if kinds & EV_CLOSED == 0, isAwaited, let onInputWhileWaiting, onInputWhileWaiting() {
                // Consumed; the task keeps waiting.
            } else if !inputChanged(.ready), isPeerClosed && !outlastsHalfClose || isBroken(kinds) {
                shown.isPeerClosed = true
                notifyPeerClosed()
            }
        }
        // A callback above may have closed the stream; then there is no writer left.
        if kinds & EV_WRITE != 0 {
            shown.isWritable = true
            if tls != nil { readerForRoom.end(.ready).resume() }
            writer.end(.ready).resume()
        }
    }

    private func notifyPeerClosed() { shown.onPeerClosed.take()?() }

    /// A reader has read all that it wants: `onPeerClosed` is called soon if the peer's side ended with the last bytes,
    /// because only the reader knows of that end.
    package func readingHasEnded() {
        guard onPeerClosed != nil, isPeerClosed && !outlastsHalfClose || hasBroken else { return }
        shown.isPeerClosed = true
        executor.later { [weak self] in self?.notifyPeerClosed() }
    }

    /// True if the connection broke. libevent reports a reset as readable and writable, without EV_CLOSED.
    private func isBroken(_ kinds: Int32) -> Bool {
        kinds & EV_WRITE != 0 && hasBroken
    }
}

private func socketChanged(_: Int32, _ kinds: Int16, _ argument: UnsafeMutableRawPointer?) {
    // The strong reference keeps the stream alive through its own callback.
    Callee<ByteStream>.target(of: argument)?.changed(Int32(kinds))
}
