// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderIO

@Suite("The first message of TLS")
struct ClientHelloTests {
    /// A ClientHello in records of at most `record` octets.
    static func octets(
        name: String? = "a.example", protocols: [String]? = ["h2", "http/1.1"], extra: [UInt8] = [],
        record: Int = 16384
    ) -> [UInt8] {
        var extensions: [UInt8] = [0x0A, 0x0A, 0, 0]
        if let name {
            extensions += [0, 0] + vector(2, vector(2, [0] + vector(2, Array(name.utf8))))
        }
        if let protocols {
            extensions += [0, 16] + vector(2, vector(2, protocols.flatMap { vector(1, Array($0.utf8)) }))
        }
        extensions += extra
        let body =
            [3, 3] + [UInt8](repeating: 7, count: 32) + vector(1, []) + vector(2, [0x13, 0x01]) + vector(1, [0])
            + vector(2, extensions)
        return records([1] + vector(3, body), record)
    }

    static func records(_ message: [UInt8], _ size: Int = 16384) -> [UInt8] {
        stride(from: 0, to: message.count, by: size).flatMap { start in
            [22, 3, 1] + vector(2, Array(message[start..<min(start + size, message.count)]))
        }
    }

    static func vector(_ lengthOctets: Int, _ content: [UInt8]) -> [UInt8] {
        (0..<lengthOctets).map { UInt8(truncatingIfNeeded: content.count >> (8 * (lengthOctets - 1 - $0))) } + content
    }

    static func read(_ octets: [UInt8]) -> ClientHello.Reader.Outcome {
        var reader = ClientHello.Reader()
        return octets.withUnsafeBytes { reader.read($0) }
    }

    @Test(arguments: [16384, 100, 3, 1])
    func `the host and the protocols are found, however the message is cut into records`(record: Int) {
        let octets = Self.octets(record: record)
        let expected = ClientHello(serverName: "a.example", applicationProtocols: ["h2", "http/1.1"])
        #expect(Self.read(octets) == .hello(expected))
        var reader = ClientHello.Reader()
        for count in 0..<octets.count {
            let outcome = octets.withUnsafeBytes { reader.read(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            #expect(outcome == .incomplete)
        }
        #expect(octets.withUnsafeBytes { reader.read($0) } == .hello(expected))
    }

    @Test func `a client may say neither`() {
        #expect(
            Self.read(Self.octets(name: nil, protocols: nil))
                == .hello(ClientHello(serverName: nil, applicationProtocols: nil)))
        // As TLS 1.2 allows: no extensions at all.
        let body: [UInt8] = [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0x13, 1, 1, 0]
        #expect(
            Self.read(Self.records([1] + Self.vector(3, body)))
                == .hello(ClientHello(serverName: nil, applicationProtocols: nil)))
    }

    @Test(
        arguments: [
            Array("GET / HTTP/1.1\r\n".utf8), [23, 3, 3, 0, 1, 0], [22, 2, 0], [22, 3, 1, 0, 0], [22, 3, 1, 0x40, 1],
            [22, 3, 1, 0, 1, 2], [22, 3, 1, 0, 4, 1, 2, 0, 1], Array("SSH-2.0-x\r\n".utf8),
        ] as [[UInt8]])
    func `other protocols are told apart at once`(octets: [UInt8]) {
        #expect(Self.read(octets) == .somethingElse)
    }

    @Test func `a message that contradicts itself is something else`() {
        let twice: [UInt8] = [0, 0] + Self.vector(2, Self.vector(2, [0] + Self.vector(2, Array("b.example".utf8))))
        #expect(Self.read(Self.octets(extra: twice)) == .somethingElse)
        #expect(Self.read(Self.octets(name: "a\0b")) == .somethingElse)
        #expect(Self.read(Self.octets(name: "")) == .somethingElse)
        #expect(Self.read(Self.octets(protocols: [""])) == .somethingElse)
        #expect(Self.read(Self.octets(protocols: [])) == .somethingElse)
        // If any octet of lengths and types is changed, reading ends, and never beyond the message.
        let whole = Self.octets()
        for index in whole.indices {
            for value in [0, 1, 0x7F, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = value
                _ = Self.read(changed)
            }
        }
        #expect(Self.read(whole + whole) == Self.read(whole))
    }
}
