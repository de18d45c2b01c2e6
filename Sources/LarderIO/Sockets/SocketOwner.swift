// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// The user who owns one end of a TCP connection of this machine, as the kernel's socket diagnostics report it
/// (sock_diag(7)).
package enum SocketOwner {
    /// The id of `nobody`, and of every user whom the process's user namespace does not map (user_namespaces(7)). Users
    /// with this id cannot be told apart.
    package static let unknown: UInt32 = 65_534

    /// The user of the process that holds the end at `local` of the connection to `remote`; nil if no process holds it.
    /// A socket that was closed has no owner: the kernel reports user 0 for it, which is also root.
    ///
    /// The first call may wait while the kernel loads the module for diagnostics.
    ///
    /// - Throws: if the kernel gives no diagnostics: a sandbox forbids netlink sockets, or the kernel has none.
    package static func user(of local: SocketAddress, to remote: SocketAddress) throws(IOError) -> UInt32? {
        let operation = "ask for the owner of a connection (NETLINK_SOCK_DIAG)"
        let descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_SOCK_DIAG)
        guard descriptor >= 0 else { throw IOError(errno: errno, operation: operation) }
        defer { close(descriptor) }
        // Only the kernel's messages reach a connected socket.
        var kernel = sockaddr_nl()
        kernel.nl_family = sa_family_t(AF_NETLINK)
        let isConnected = withUnsafePointer(to: &kernel) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
            }
        }
        let question = Self.question(local, remote)
        var answer = [UInt8](repeating: 0, count: 8192)
        guard isConnected, send(descriptor, question, question.count, 0) == question.count else {
            throw IOError(errno: errno, operation: operation)
        }
        // The kernel has answered before `send` returns.
        let count = recv(descriptor, &answer, answer.count, Int32(MSG_DONTWAIT))
        guard count >= 0 else { throw IOError(errno: errno, operation: operation) }
        let outcome = answer.withUnsafeBytes { bytes in
            Result { () throws(IOError) in try user(in: bytes.prefix(count), local, remote, operation) }
        }
        return try outcome.get()
    }

    /// A request for the one socket at `local` that is connected to `remote`, as bytes for the kernel.
    private static func question(_ local: SocketAddress, _ remote: SocketAddress) -> [UInt8] {
        var request = inet_diag_req_v2()
        request.sdiag_family = UInt8(local.family)
        request.sdiag_protocol = UInt8(IPPROTO_TCP)
        request.idiag_states = .max
        request.id.idiag_sport = local.port.bigEndian
        request.id.idiag_dport = remote.port.bigEndian
        request.id.idiag_src = local.diagnosticWords
        request.id.idiag_dst = remote.diagnosticWords
        // No cookie, so that any socket matches, not only one that an earlier answer named (INET_DIAG_NOCOOKIE).
        request.id.idiag_cookie = (.max, .max)
        var head = nlmsghdr()
        head.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + MemoryLayout<inet_diag_req_v2>.size)
        head.nlmsg_type = UInt16(SOCK_DIAG_BY_FAMILY)
        head.nlmsg_flags = UInt16(NLM_F_REQUEST)
        return withUnsafeBytes(of: head) { Array($0) } + withUnsafeBytes(of: request) { Array($0) }
    }

    /// The user that an answer of the kernel names, if it is about that connection.
    static func user(
        in answer: Slice<UnsafeRawBufferPointer>, _ local: SocketAddress, _ remote: SocketAddress,
        _ operation: String = ""
    ) throws(IOError) -> UInt32? {
        let bytes = UnsafeRawBufferPointer(rebasing: answer)
        let start = MemoryLayout<nlmsghdr>.size
        guard bytes.count >= start else { throw malformed(operation) }
        let head = bytes.loadUnaligned(as: nlmsghdr.self)
        switch Int32(head.nlmsg_type) {
        case NLMSG_ERROR:
            guard bytes.count >= start + 4 else { throw malformed(operation) }
            let code = bytes.loadUnaligned(fromByteOffset: start, as: Int32.self)
            if code == -ENOENT { return nil }
            throw IOError(errno: Int32(clamping: code.magnitude), operation: operation)
        case SOCK_DIAG_BY_FAMILY:
            let end = start + MemoryLayout<inet_diag_msg>.size
            guard Int(head.nlmsg_len) >= end, bytes.count >= end else { throw malformed(operation) }
            let found = bytes.loadUnaligned(fromByteOffset: start, as: inet_diag_msg.self)
            let family = Int32(found.idiag_family)
            // The kernel answers with a listening socket where it has no connection.
            guard SocketAddress(found.id.idiag_src, family, found.id.idiag_sport) == local.withoutScope,
                SocketAddress(found.id.idiag_dst, family, found.id.idiag_dport) == remote.withoutScope,
                heldStates.contains(found.idiag_state), found.idiag_inode != 0
            else { return nil }
            return found.idiag_uid
        default: throw malformed(operation)
        }
    }

    private static func malformed(_ operation: String) -> IOError {
        IOError(.other, operation: operation, detail: "the kernel's answer has another form than expected")
    }

    /// Established, and ended by one side: a client may end its side behind its request and still wait for the response.
    /// The numbers are the kernel's (linux/tcp_states.h): ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT.
    private static let heldStates: [UInt8] = [1, 4, 5, 8]
}

extension SocketAddress {
    fileprivate typealias DiagnosticWords = (UInt32, UInt32, UInt32, UInt32)

    /// The address as four words in network order; IPv4 has the first of them.
    fileprivate var diagnosticWords: DiagnosticWords {
        switch storage {
        case .ipv4(let number, _): return (number.bigEndian, 0, 0, 0)
        case .ipv6(let high, let low, _, _):
            return (
                UInt32(truncatingIfNeeded: high >> 32).bigEndian, UInt32(truncatingIfNeeded: high).bigEndian,
                UInt32(truncatingIfNeeded: low >> 32).bigEndian, UInt32(truncatingIfNeeded: low).bigEndian
            )
        case .unix: return (0, 0, 0, 0)
        }
    }

    fileprivate init(_ words: DiagnosticWords, _ family: Int32, _ port: UInt16) {
        let port = UInt16(bigEndian: port)
        guard family == AF_INET6 else {
            self.init(ipv4: UInt32(bigEndian: words.0), port: port)
            return
        }
        self.init(
            ipv6: UInt64(UInt32(bigEndian: words.0)) << 32 | UInt64(UInt32(bigEndian: words.1)),
            UInt64(UInt32(bigEndian: words.2)) << 32 | UInt64(UInt32(bigEndian: words.3)), port: port)
    }

    /// The address without a scope, which the kernel's diagnostics leave out.
    fileprivate var withoutScope: SocketAddress {
        guard case .ipv6(let high, let low, let port, _) = storage else { return self }
        return SocketAddress(ipv6: high, low, port: port)
    }
}
