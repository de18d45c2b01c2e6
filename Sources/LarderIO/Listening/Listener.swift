// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// Accepts connections on one loop and passes each on as a stream. Confined to that loop.
package final class Listener {
    /// How many connections are accepted before other events of the loop are handled.
    private static let batchLimit = 64
    /// How long to pause accepting when descriptors have run out.
    private static let exhaustionPause = Duration.milliseconds(100)

    package let address: SocketAddress
    /// Called when accepting fails, for example because the process or the system has run out of descriptors; at most
    /// ten times a second.
    package var onExhausted: ((IOError) -> Void)?

    /// The system call that accepts a connection; tests inject failures here.
    var acceptCall: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32 = {
        larder_accept($0, $1, $2)
    }
    private let executor: LoopExecutor
    private let socket: ListeningSocket
    private let accepted: (ByteStream) -> Void
    /// The local address of every connection; nil if it differs between connections.
    private let local: SocketAddress?
    private var socketEvent: OpaquePointer?
    private var pauseTimer: Timer?
    private var callee: Callee<Listener>?
    /// Closed to accept, and so to refuse in an orderly manner, one connection when no descriptor is left.
    private var reserve: Int32 = -1

    /// Accepts from `socket` and calls `accepted` on the loop for each connection.
    package init(
        _ socket: ListeningSocket, on loop: isolated EventLoop, accepted: @escaping (ByteStream) -> Void
    ) throws(IOError) {
        self.socket = socket
        executor = loop.executor
        self.accepted = accepted
        address = socket.address
        // With a wildcard address, the local address differs between connections.
        local = socket.address.isUnspecified ? nil : socket.address
        let callee = Callee(self)
        self.callee = callee
        pauseTimer = loop.makeTimer { callee.target()?.updateEvent() }
        // Level-triggered: connections beyond a batch are reported again.
        socketEvent = event_new(
            loop.executor.base, socket.descriptor, Int16(EV_READ | EV_PERSIST), connectionsArrived,
            callee.argument)
        guard let socketEvent, event_add(socketEvent, nil) == 0 else {
            throw IOError(errno: errno, operation: "watch the socket at \(address)")
        }
        reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    deinit {
        if executor.isOnThread { return close() }
        callee?.end()
        Leftovers(
            descriptors: reserve >= 0 ? [reserve] : [], events: socketEvent.map { [$0] } ?? [],
            timers: pauseTimer.map { [$0] } ?? [], others: [socket] + (callee.map { [$0] } ?? [])
        ).dispose(on: executor)
    }

    package var isOpen: Bool { socketEvent != nil }

    /// Stops accepting and closes the socket. Accepted connections are not affected.
    package func close() {
        guard let socketEvent else { return }
        event_free(socketEvent)
        self.socketEvent = nil
        pauseTimer?.cancel()
        pauseTimer = nil
        socket.close()
        if reserve >= 0 { Glibc.close(reserve) }
        reserve = -1
    }

    private func updateEvent() {
        guard let socketEvent else { return }
        if pauseTimer?.isArmed == true {
            event_del(socketEvent)
        } else {
            event_add(socketEvent, nil)
        }
    }

    fileprivate func acceptBatch() {
        executor.noteTurn()
        var count = 0
        while count < Self.batchLimit, isOpen {
            count += 1
            var descriptor: Int32 = -1
            let peer = SocketAddress.received { address, length in
                descriptor = acceptCall(socket.descriptor, address, length)
                return descriptor >= 0
            }
            if descriptor >= 0 {
                // Pending changes of other threads take effect first: a client that was told of one must observe it.
                executor.catchUp()
                // One of these changes may have closed the listener.
                guard isOpen else {
                    Glibc.close(descriptor)
                    return
                }
                accepted(ByteStream(accepted: descriptor, on: executor, peer: peer, local: local))
                continue
            }
            switch errno {
            case EAGAIN: return
            // The connection broke while it waited, or a signal came: neither affects the next one. Linux reports the
            // network's errors here as well (accept(2)).
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
                ENETUNREACH, EPERM:
                continue
            default: return rest(after: IOError(errno: errno, operation: "accept at \(address)"))
            }
        }
    }

    /// Refuses one connection, then pauses accepting for a moment: until a descriptor is freed, every attempt would
    /// fail.
    private func rest(after error: IOError) {
        if reserve >= 0 {
            Glibc.close(reserve)
            let unwanted = acceptCall(socket.descriptor, nil, nil)
            if unwanted >= 0 { Glibc.close(unwanted) }
            reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
        }
        pauseTimer?.arm(after: Self.exhaustionPause)
        updateEvent()
        onExhausted?(error)
    }
}

private func connectionsArrived(_: Int32, _: Int16, _ argument: UnsafeMutableRawPointer?) {
    Callee<Listener>.target(of: argument)?.acceptBatch()
}

extension EventLoop {
    /// Accepts from `socket` and calls `accepted` for each connection.
    package nonisolated func listenHere(
        on socket: ListeningSocket, accepted: @escaping (ByteStream) -> Void
    ) throws(IOError) -> Listener {
        let accepted = Confined(accepted)
        // Holds: see `timerHere`.
        let listener: Confined<Result<Listener, IOError>> = assumeIsolated { loop in
            do throws(IOError) {
                return Confined(.success(try Listener(socket, on: loop, accepted: accepted.value)))
            } catch {
                return Confined(.failure(error))
            }
        }
        return try listener.value.get()
    }
}
