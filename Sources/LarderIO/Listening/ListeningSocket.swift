// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization

/// A socket that is bound and listens, made before there are loops to accept on it. Usable from any thread.
package final class ListeningSocket: Sendable {
    /// The address that the socket listens on, with the actual port if the system chose one.
    package let address: SocketAddress
    private let state: Atomic<Int32>
    /// The file to remove at the end, as it was when we made it.
    private let file: FileIdentity?

    private init(descriptor: Int32, file: FileIdentity? = nil) {
        state = Atomic(descriptor)
        address = SocketAddress.of(descriptor, ask: getsockname)
        self.file = file
    }

    deinit { close() }

    /// The socket, or -1 once closed.
    package var descriptor: Int32 { state.load(ordering: .relaxed) }

    /// Stops listening here; listeners on duplicates go on. The file of a Unix socket goes if it is still ours.
    package func close() {
        let descriptor = state.exchange(-1, ordering: .relaxed)
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        if let file, let path = address.unixPath, FileIdentity(path: path) == file { unlink(path) }
    }

    /// Listens at `address` with one socket for each of `count` loops, among which the kernel spreads connections.
    ///
    /// `[::]` takes IPv4 too unless `isIPv6Only`. Port 0 lets the system choose, the same for all. Throws
    /// `.addressInUse` if anybody listens there, other processes of the same user included.
    package static func tcp(
        _ address: SocketAddress, count: Int = 1, isIPv6Only: Bool = false, backlog: Int32 = 4096
    ) throws(IOError) -> [ListeningSocket] {
        // Holds: addresses of `listen` are IP addresses, and there is a loop at least.
        precondition(count > 0 && !address.isUnix, "an IP address and at least one socket")
        let operation = "listen on \(address)"
        var sockets: [ListeningSocket] = []
        var address = address
        for index in 0..<count {
            let descriptor = Glibc.socket(address.family, streamSocket, 0)
            guard descriptor >= 0 else { throw IOError(errno: errno, operation: operation) }
            set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            setNoDelay(descriptor)
            if address.isLoopback { set(descriptor, SOL_SOCKET, SO_SNDBUF, loopbackSendBuffer) }
            if address.isIPv6 {
                set(descriptor, SocketKind.ipv6, IPV6_V6ONLY, address.isUnspecified && !isIPv6Only ? 0 : 1)
            }
            // The first is bound as the only one, so that a second process is refused; after that the address is
            // opened to our own other sockets.
            if index > 0 { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
            guard address.bind(descriptor) == 0 else {
                let number = errno
                Glibc.close(descriptor)
                throw IOError(errno: number, operation: operation)
            }
            if index == 0, count > 1 { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
            let socket = ListeningSocket(descriptor: descriptor)
            sockets.append(socket)
            address = socket.address.isIPv4 == address.isIPv4 ? socket.address : address.withPort(socket.address.port)
        }
        for socket in sockets {
            guard listen(socket.descriptor, backlog) == 0 else { throw IOError(errno: errno, operation: operation) }
        }
        return sockets
    }

    /// Listens at a path, for whom `mode` lets; `group` is the number of the group that is meant by it, unless it is
    /// the process's own.
    ///
    /// A socket left by a process that has ended is replaced; one with a listener is `.addressInUse`, and so is any
    /// other file of that name.
    package static func unix(
        path: String, mode: UInt32 = 0o600, group: UInt32? = nil
    ) throws(IOError) -> ListeningSocket {
        let operation = "listen on unix:\(path)"
        guard !path.isEmpty, path.utf8.count <= SocketAddress.unixPathLimit, !path.utf8.contains(0) else {
            throw IOError(
                errno: ENAMETOOLONG, operation: operation)
        }
        let address = SocketAddress(unixPath: path)
        let descriptor = Glibc.socket(AF_UNIX, streamSocket, 0)
        guard descriptor >= 0 else { throw IOError(errno: errno, operation: operation) }
        var bound = address.bind(descriptor)
        if bound != 0, errno == EADDRINUSE {
            do throws(IOError) {
                try removeStale(address, path: path, operation: operation)
            } catch {
                Glibc.close(descriptor)
                throw error
            }
            bound = address.bind(descriptor)
        }
        // Clients cannot connect before `listen`, so `chmod` sets the mode in time without touching the umask.
        let isOwned = bound == 0 && group.map { chown(path, uid_t.max, $0) == 0 } ?? true
        guard bound == 0, isOwned, chmod(path, mode) == 0, listen(descriptor, 1024) == 0 else {
            let number = errno
            Glibc.close(descriptor)
            if bound == 0 { unlink(path) }
            throw IOError(errno: number, operation: operation)
        }
        return ListeningSocket(descriptor: descriptor, file: FileIdentity(path: path))
    }

    private static func removeStale(
        _ address: SocketAddress, path: String, operation: String
    ) throws(IOError) {
        func inUse(_ detail: String) -> IOError {
            IOError(.addressInUse, errno: EADDRINUSE, operation: operation, detail: detail)
        }
        guard let file = FileIdentity(path: path), file.isSocket else {
            throw inUse("a file that is not a socket has this name; remove it or choose another path")
        }
        let probe = Glibc.socket(AF_UNIX, streamSocket, 0)
        guard probe >= 0 else { throw IOError(errno: errno, operation: operation) }
        defer { Glibc.close(probe) }
        let status = address.connect(probe)
        guard status != 0, errno == ECONNREFUSED else {
            throw inUse("another process listens on this socket; stop it or choose another path")
        }
        guard unlink(path) == 0 || errno == ENOENT else { throw IOError(errno: errno, operation: operation) }
    }

    /// Takes over a listening socket this process was started with, as from systemd.
    package static func inherited(_ descriptor: Int32) throws(IOError) -> ListeningSocket {
        let operation = "take over the inherited socket \(descriptor)"
        var listens: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 else {
            throw IOError(errno: errno, operation: operation)
        }
        guard listens != 0 else {
            throw IOError(.other, errno: EINVAL, operation: operation, detail: "it does not listen for streams")
        }
        setNonBlocking(descriptor)
        // Accepted connections inherit it, here as above.
        setNoDelay(descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return ListeningSocket(descriptor: descriptor)
    }

    /// The same socket for one more loop, where the kernel cannot spread connections over several.
    package func duplicate() throws(IOError) -> ListeningSocket {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw IOError(errno: errno, operation: "duplicate the socket at \(address)") }
        return ListeningSocket(descriptor: copy)
    }

    /// Bytes that the kernel takes from us for one client of this machine. More of them would only be in the way: what
    /// is under way then no longer fits into the processor's cache, and a slow client holds more memory.
    private static let loopbackSendBuffer: Int32 = 192 << 10

    private static let streamSocket = SocketKind.stream | SocketKind.ownAndNonBlocking

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}

/// Which file a path led to at some moment.
private struct FileIdentity: Equatable {
    let device: dev_t
    let number: ino_t
    let mode: mode_t

    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        device = status.st_dev
        number = status.st_ino
        mode = status.st_mode
    }

    var isSocket: Bool { mode & S_IFMT == S_IFSOCK }
}
