// SPDX-License-Identifier: Apache-2.0
import Glibc
package final class TLSClientContext: Sendable { package init(caFile: String? = nil) throws(IOError) {} }
extension ByteStream {
    package func startTLS(client: TLSClientContext, serverName: String) async throws(IOError) { throw IOError(.tlsFailed, operation: "tls") }
    package var hasPendingInput: Bool { isReadable }
}
package final class Connector {
    let loop: EventLoop
    package init(loop: EventLoop) { self.loop = loop }
    package func connect(to host: String, port: UInt16, timeout: Duration, allow: (SocketAddress) -> Bool) async throws(IOError) -> ByteStream {
        guard let address = SocketAddress(host: host == "localhost" ? "127.0.0.1" : host, port: port) else { throw IOError(.nameNotFound, operation: "resolve") }
        guard allow(address) else { throw IOError(.permissionDenied, operation: "connect") }
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var a = sockaddr_in()
        a.sin_family = sa_family_t(AF_INET)
        a.sin_port = port.bigEndian
        inet_pton(AF_INET, address.host, &a.sin_addr)
        let r = withUnsafePointer(to: &a) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(fd, $0, 16) } }
        guard r == 0 else { let e = errno; close(fd); throw IOError(errno: e, operation: "connect") }
        let box = Result { () throws(IOError) in try loop.assumeIsolated { l in Confined(Result { () throws(IOError) in try ByteStream(adopting: fd, on: l) }) }.value.get() }
        return try box.get()
    }
}
