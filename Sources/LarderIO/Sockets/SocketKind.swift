// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// The system's constants for sockets, in the types its calls take.
///
/// Which C module these enumerations belong to depends on the order in which the compiler meets glibc's headers and
/// libevent's, so that a file with `import Glibc` alone may or may not see them. Hence in one place, which imports
/// both.
enum SocketKind {
    static let stream = Int32(SOCK_STREAM.rawValue)
    static let datagram = Int32(SOCK_DGRAM.rawValue)
    /// To be added to a kind: calls on the socket do not block, and child processes do not inherit it.
    static let ownAndNonBlocking = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    static let tcp = Int32(IPPROTO_TCP)
    static let ipv6 = Int32(IPPROTO_IPV6)
    static let noSignal = Int32(MSG_NOSIGNAL)
    static let more = Int32(MSG_MORE)
    static let peek = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
    static let ourSide = Int32(SHUT_WR)
}

func setNonBlocking(_ descriptor: Int32) {
    let flags = fcntl(descriptor, F_GETFL)
    if flags & O_NONBLOCK == 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
}

/// Sends small writes at once, without waiting for the peer's acknowledgement. Unix sockets refuse it harmlessly.
func setNoDelay(_ descriptor: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, SocketKind.tcp, TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
}
