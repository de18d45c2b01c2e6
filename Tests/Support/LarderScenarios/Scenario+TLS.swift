// SPDX-License-Identifier: Apache-2.0
package import LarderIO
package import LarderPeers

extension Scenario {
    /// A new client that has asked for a tunnel and speaks TLS in it.
    ///
    /// - Parameters:
    ///   - authority: the target of CONNECT; by default the origin's.
    ///   - serverName: the name that the client expects.
    ///   - trust: how it speaks TLS, and the authorities it trusts.
    ///   - lines: field lines of the CONNECT request.
    /// - Throws: when there is no tunnel, or the handshake fails.
    package func tunnel(
        to authority: String? = nil, serverName: String? = nil, trusting trust: TLSClientContext, _ lines: String...
    ) async throws -> Wire {
        let authority = authority ?? origin.authority
        let name = serverName ?? String(authority[..<(authority.lastIndex(of: ":") ?? authority.endIndex)])
        return try await connect(to: address, "the client in the tunnel") { stream in
            try await Scenario.ask(authority, lines, on: stream)
            try await stream.startTLS(client: trust, serverName: name)
        }
    }

    /// A new client that has asked for a tunnel and sends raw octets.
    package func tunnel(to authority: String? = nil, _ lines: String...) async throws -> Wire {
        let authority = authority ?? origin.authority
        return try await connect(to: address, "the client in the tunnel") { stream in
            try await Scenario.ask(authority, lines, on: stream)
        }
    }

    /// Asks for a tunnel, and reads the answer octet by octet: the octets after it belong to the tunnel.
    private static func ask(_ authority: String, _ lines: [String], on stream: ByteStream) async throws {
        let head = ["CONNECT \(authority) HTTP/1.1", "Host: \(authority)"] + lines
        try await stream.write(Array((head.map { $0 + "\r\n" }.joined() + "\r\n").utf8))
        let octet = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        defer { octet.deallocate() }
        var answer: [UInt8] = []
        while !answer.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard try await stream.read(into: octet) == 1, answer.count < 65536 else {
                throw ScenarioFailure("CONNECT was answered by \(String(decoding: answer, as: UTF8.self))")
            }
            answer.append(octet[0])
        }
        guard answer.starts(with: "HTTP/1.1 200 ".utf8) else {
            throw ScenarioFailure("CONNECT was answered by \(String(decoding: answer, as: UTF8.self))")
        }
    }
}
