// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// How the engine is reached and spoken to.
package struct EngineSettings: Sendable {
    /// The engine, or some nodes of a cluster.
    package var nodes: [EngineNode]
    package var isCluster = false
    package var username: String?
    package var password: String?
    /// Set where the engine is spoken to over TLS.
    package var tls: TLSClientContext?
    /// For a reply.
    package var timeout = Duration.milliseconds(20)
    /// For a connection with everything that belongs to it.
    package var connectTimeout = Duration.seconds(2)
    package var circuit = EngineCircuit.Limits()
    /// The largest fraction by which a connection shortens its circuit's intervals.
    package var haste = 0.25

    package init(nodes: [EngineNode]) { self.nodes = nodes }

    /// The commands that begin a connection. The engine's user needs no name where it is the default one.
    var greeting: [Command] {
        guard let password else { return [] }
        return [username.map { Command("AUTH", $0, password) } ?? Command("AUTH", password)]
    }
}

/// Opens a connection to a node, over TLS where the settings say so.
package typealias EngineDial = (EngineNode, Duration) async throws(IOError) -> ByteStream

extension Connector {
    /// Connects to a node of the engine.
    package func dial(
        _ node: EngineNode, tls: TLSClientContext?, within timeout: Duration
    ) async throws(IOError) -> ByteStream {
        let stream: ByteStream
        let name: String
        switch node {
        case .tcp(let host, let port):
            stream = try await connect(to: host, port: port, timeout: timeout)
            name = host
        case .unix(let path): return try await connect(unixPath: path, timeout: timeout)
        }
        guard let tls else { return stream }
        do throws(IOError) {
            stream.setDeadline(after: timeout)
            try await stream.startTLS(client: tls, serverName: name)
            stream.setDeadline(after: nil)
            return stream
        } catch {
            stream.close()
            throw error
        }
    }
}
