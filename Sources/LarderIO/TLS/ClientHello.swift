// SPDX-License-Identifier: Apache-2.0

/// The destination and protocols of TLS traffic according to the client's first message (RFC 8446 §4.1.2).
package struct ClientHello: Sendable, Equatable {
    /// The host that SNI names, as the client wrote it (RFC 6066 §3).
    package let serverName: String?
    /// The protocols that ALPN offers (RFC 7301); nil when it offers none in particular.
    package let applicationProtocols: [String]?

    package init(serverName: String?, applicationProtocols: [String]?) {
        self.serverName = serverName
        self.applicationProtocols = applicationProtocols
    }

    /// Parses the message from the bytes of a stream as they arrive.
    ///
    /// It reads lengths and two extensions, and refuses contradictory ones; the rest of the message is left to the
    /// endpoint that answers it. The time it takes grows linearly with the bytes, however they are split.
    package struct Reader {
        /// The longest message that is accepted; clients with post-quantum keys send a few kibibytes.
        package static let limit = 128 << 10

        package enum Outcome: Equatable {
            /// It may be a ClientHello that is not complete yet.
            case incomplete
            /// It is not a ClientHello, or a contradictory one.
            case somethingElse
            case hello(ClientHello)
        }

        /// The position of the next record.
        private var position = 0
        /// The handshake message without its records.
        private var message: [UInt8] = []

        package init() {}

        /// - Parameter bytes: everything received so far, from the first byte on.
        package mutating func read(_ octets: UnsafeRawBufferPointer) -> Outcome {
            while true {
                let rest = octets[min(position, octets.count)...]
                guard ClientHello.mayBeRecord(rest.prefix(5)) else { return .somethingElse }
                guard rest.count >= 5 else { return .incomplete }
                let start = rest.startIndex
                let length = Int(rest[start + 3]) << 8 | Int(rest[start + 4])
                guard 1...16384 ~= length else { return .somethingElse }
                guard rest.count >= 5 + length else { return .incomplete }
                message.append(contentsOf: rest[(start + 5)..<(start + 5 + length)])
                position += 5 + length
                if message[0] != 1 { return .somethingElse }
                guard message.count >= 4 else { continue }
                let whole = 4 + (Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3]))
                guard whole <= Reader.limit else { return .somethingElse }
                guard message.count >= whole else { continue }
                // No bytes may follow a ClientHello before it is answered, least of all in its own record.
                guard message.count == whole, let hello = ClientHello(message[4...]) else { return .somethingElse }
                return .hello(hello)
            }
        }
    }

    /// True if a handshake record of TLS may begin this way.
    private static func mayBeRecord(_ head: Slice<UnsafeRawBufferPointer>) -> Bool {
        var head = head.makeIterator()
        guard let kind = head.next() else { return true }
        guard kind == 22 else { return false }
        return head.next().map { $0 == 3 } ?? true
    }

    /// Parses a message without its type and length; nil when it is contradictory.
    private init?(_ body: ArraySlice<UInt8>) {
        var body = Fields(rest: body)
        guard body.take(2 + 32) != nil, let session = body.takeVector(lengthOctets: 1), session.rest.count <= 32,
            body.takeVector(lengthOctets: 2) != nil, body.takeVector(lengthOctets: 1) != nil
        else { return nil }
        var name: String?
        var protocols: [String]?
        if !body.isEmpty {
            guard var extensions = body.takeVector(lengthOctets: 2), body.isEmpty else { return nil }
            var seen: Set<Int> = []
            while !extensions.isEmpty {
                guard let kind = extensions.takeNumber(2), let value = extensions.takeVector(lengthOctets: 2),
                    seen.insert(kind).inserted
                else { return nil }
                switch kind {
                case 0:
                    guard let found = ClientHello.serverName(value) else { return nil }
                    name = found
                case 16:
                    guard let found = ClientHello.protocols(value) else { return nil }
                    protocols = found
                default: break
                }
            }
        }
        self.init(serverName: name, applicationProtocols: protocols)
    }

    /// One name of type host_name, the only type ever defined.
    private static func serverName(_ value: Fields) -> String? {
        var value = value
        guard var list = value.takeVector(lengthOctets: 2), value.isEmpty, list.takeNumber(1) == 0,
            let name = list.takeVector(lengthOctets: 2), list.isEmpty, !name.isEmpty,
            name.rest.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        return String(decoding: name.rest, as: UTF8.self)
    }

    private static func protocols(_ value: Fields) -> [String]? {
        var value = value
        guard var list = value.takeVector(lengthOctets: 2), value.isEmpty, !list.isEmpty else { return nil }
        var names: [String] = []
        while !list.isEmpty {
            guard let name = list.takeVector(lengthOctets: 1), !name.isEmpty else { return nil }
            names.append(String(decoding: name.rest, as: UTF8.self))
        }
        return names
    }

    /// The rest of a structure of numbers and vectors (RFC 8446 §3).
    private struct Fields {
        var rest: ArraySlice<UInt8>

        var isEmpty: Bool { rest.isEmpty }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func takeNumber(_ octets: Int) -> Int? { take(octets)?.reduce(0) { $0 << 8 | Int($1) } }

        mutating func takeVector(lengthOctets: Int) -> Fields? {
            guard let length = takeNumber(lengthOctets) else { return nil }
            return take(length).map(Fields.init(rest:))
        }
    }
}
