// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderUpstream

/// A blocking connection to a Unix socket, or over TCP. Commands do one thing after another and have no loop, which
/// the streams of `LarderIO` belong to.
struct PlainStream: ~Copyable {
    private let descriptor: Int32
    /// The `Host` of requests on it.
    let host: String
    /// The `Proxy-Authorization` of requests on it, if any.
    private let credentials: String?

    enum Failure: Error {
        case pathTooLong
        /// The host's name has no address.
        case unknownHost
        case connect(Int32)
        case transfer(Int32)
        case tooLarge
        /// The response is not HTTP.
        case malformed
        /// The connection ended before the response did.
        case endedEarly

        /// True if the Unix socket is missing, or inaccessible to this user.
        var isAboutTheSocket: Bool {
            switch self {
            case .connect(let code): [ENOENT, ENOTDIR, ECONNREFUSED, EACCES, EPERM].contains(code)
            case .pathTooLong: true
            case .unknownHost, .transfer, .tooLarge, .malformed, .endedEarly: false
            }
        }
    }

    /// Connects; each later send or receive times out after `seconds`.
    init(path: String, seconds: Int) throws(Failure) {
        descriptor = try PlainStream.connectedDescriptor(path: path, seconds: seconds)
        host = "localhost"
        credentials = nil
    }

    /// The same over TCP, to the first address of the host that accepts the connection.
    init(to place: TCPPlace, seconds: Int) throws(Failure) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(place.host, String(place.port), &hints, &list) == 0 else { throw .unknownHost }
        defer { freeaddrinfo(list) }
        var code = ECONNREFUSED
        var next = list
        while let address = next?.pointee {
            let made = socket(
                address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), address.ai_protocol)
            if made >= 0 {
                PlainStream.setPatience(of: made, seconds: seconds)
                if connect(made, address.ai_addr, address.ai_addrlen) == 0 {
                    descriptor = made
                    host = place.authority
                    credentials = place.authorization
                    return
                }
                code = errno
                close(made)
            }
            next = address.ai_next
        }
        throw .connect(code)
    }

    deinit { close(descriptor) }

    private static func connectedDescriptor(path: String, seconds: Int) throws(Failure) -> Int32 {
        guard path.utf8.count <= SocketAddress.unixPathLimit else { throw .pathTooLong }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .connect(errno) }
        setPatience(of: descriptor, seconds: seconds)
        let status = SocketAddress(unixPath: path).connect(descriptor)
        guard status == 0 else {
            let code = errno
            close(descriptor)
            throw .connect(code)
        }
        return descriptor
    }

    private static func setPatience(of descriptor: Int32, seconds: Int) {
        var timeout = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
    }

    /// Sends a request, the only one on this connection.
    ///
    /// - Parameter fields: the lines that follow those about the connection.
    func send(
        _ method: String, _ target: String, host: String? = nil, _ fields: [String], content: [UInt8] = []
    ) throws(Failure) {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: \(host ?? self.host)", "Connection: close"] + fields
        if let credentials, !fields.contains(where: { $0.lowercased().hasPrefix("proxy-authorization:") }) {
            lines.append("Proxy-Authorization: \(credentials)")
        }
        try send(Array(lines.map { $0 + "\r\n" }.joined().utf8) + [0x0D, 0x0A] + content)
    }

    func send(_ bytes: [UInt8]) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .transfer(errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits a little for bytes. If none come, a person is told so in a line of progress, and the result is true.
    func showSilence(_ words: String) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard isatty(STDERR_FILENO) == 1, poll(&wanted, 1, 3_000) == 0 else { return false }
        Terminal.writeProgress(words)
        return true
    }

    /// The available bytes, at least one; none at the end of the stream.
    func receive() throws(Failure) -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .transfer(errno) }
            return Array(chunk[..<count])
        }
    }
}
