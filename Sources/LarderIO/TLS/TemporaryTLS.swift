// SPDX-License-Identifier: Apache-2.0
package final class TLSClientContext: Sendable { package init(caFile: String? = nil) throws(IOError) {} }
extension ByteStream {
    package func startTLS(client: TLSClientContext, serverName: String) async throws(IOError) { throw IOError(.tlsFailed, operation: "tls") }
    package var hasPendingInput: Bool { isReadable }
}
extension EventLoop {
    package nonisolated func makeConnectorHere() -> Connector { assumeIsolated { Confined(Connector(on: $0)) }.value }
}
