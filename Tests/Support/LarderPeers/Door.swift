// SPDX-License-Identifier: Apache-2.0
import Glibc
package import LarderIO

/// Where a test takes a connection itself, to hand it over as somebody else's.
package final class Door {
    package let address: SocketAddress
    private let holder: PortHolder
    private let socket: ListeningSocket

    package init() throws {
        holder = try PortHolder()
        socket = try holder.listen()
        address = holder.address
    }

    deinit { socket.close() }

    /// The descriptor of the connection that has come.
    package func accept() throws -> Int32 {
        while true {
            var waiting = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            let isThere = poll(&waiting, 1, 10_000) == 1
            let descriptor = isThere ? Glibc.accept(socket.descriptor, nil, nil) : -1
            if descriptor >= 0 {
                // Child processes of other tests must not keep it open.
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                return descriptor
            }
            guard isThere, errno == EAGAIN || errno == EINTR else {
                throw ScenarioFailure("nobody came through the door: errno \(errno)")
            }
        }
    }
}
