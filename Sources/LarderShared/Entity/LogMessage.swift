// SPDX-License-Identifier: Apache-2.0
import LarderStores

/// An invalidation as one daemon tells the others.
package struct LogMessage: Sendable, Equatable {
    package enum Subject: Sendable, Equatable {
        case url([UInt8], service: String, base: String)
        case scope(SharedScope, Generation)
        /// The URLs of a service that match one of these patterns. In the engine all of the service is invalid.
        case patterns([String], service: String, base: String, Generation)
        /// Nothing: the log is there.
        case beginning
    }

    /// The process that wrote it, and has applied it already: 16 bytes.
    package let sender: [UInt8]
    /// The sender's, each larger than the one before; the same where a message is sent again. 0 for `beginning`.
    package let number: Int64
    package let subject: Subject

    package init(from sender: [UInt8], _ number: Int64, _ subject: Subject) {
        self.sender = sender
        self.number = number
        self.subject = subject
    }
}

/// Sealed messages as bytes, and back; nil for bytes that no daemon of the team sealed.
package struct MessageCoding: Sendable {
    private static let version: UInt8 = 2
    private let namespace: String
    private let seal: Seal

    package init(namespace: String, seal: Seal) {
        self.namespace = namespace
        self.seal = seal
    }

    package func encode(_ message: LogMessage) -> [UInt8] {
        var out = OctetWriter(room: 256)
        out.append(MessageCoding.version)
        out.append(run: message.sender)
        out.append(place: message.number)
        switch message.subject {
        case .beginning: out.append(UInt8(0))
        case .url(let url, let service, let base):
            out.append(UInt8(1))
            out.append(run: url)
            out.append(run: service)
            out.append(run: base)
        case .scope(.everything, let generation):
            out.append(UInt8(2))
            out.append(run: generation.octets)
        case .scope(.service(let name, let base), let generation):
            out.append(UInt8(3))
            out.append(run: name)
            out.append(run: base)
            out.append(run: generation.octets)
        case .scope(.group(let group, let origin), let generation):
            out.append(UInt8(4))
            out.append(run: group)
            out.append(optional: origin.map { Array($0.utf8) })
            out.append(run: generation.octets)
        case .patterns(let patterns, let service, let base, let generation):
            out.append(UInt8(5))
            out.append(count: patterns.count)
            for pattern in patterns { out.append(run: pattern) }
            out.append(run: service)
            out.append(run: base)
            out.append(run: generation.octets)
        }
        return out.octets + seal.code(for: sealed(out.octets), as: .message)
    }

    package func decode(_ octets: [UInt8]) -> LogMessage? {
        guard octets.count > Seal.length else { return nil }
        let plain = Array(octets.dropLast(Seal.length))
        guard seal.verifies(Array(octets.suffix(Seal.length)), for: sealed(plain), as: .message) else { return nil }
        var reader = OctetReader(plain)
        guard reader.byte() == MessageCoding.version, let sender = reader.run(), sender.count == 16,
            let number = reader.place(), let subject = MessageCoding.subject(&reader), reader.isAtEnd
        else { return nil }
        return LogMessage(from: sender, number, subject)
    }

    private static func subject(_ reader: inout OctetReader) -> LogMessage.Subject? {
        switch reader.byte() {
        case 0: return .beginning
        case 1:
            guard let url = reader.run(), let service = reader.text(), let base = reader.text() else { return nil }
            return .url(url, service: service, base: base)
        case 2: return reader.generation().map { .scope(.everything, $0) }
        case 3:
            guard let name = reader.text(), let base = reader.text(), let generation = reader.generation() else {
                return nil
            }
            return .scope(.service(name: name, base: base), generation)
        case 4:
            guard let group = reader.text(), case .some(let place) = reader.optional(),
                let generation = reader.generation()
            else { return nil }
            guard let place else { return .scope(.group(group, origin: nil), generation) }
            return String(validating: place, as: UTF8.self).map { .scope(.group(group, origin: $0), generation) }
        case 5:
            guard let count = reader.count() else { return nil }
            var patterns: [String] = []
            for _ in 0..<count {
                guard let pattern = reader.text() else { return nil }
                patterns.append(pattern)
            }
            guard let service = reader.text(), let base = reader.text(), let generation = reader.generation() else {
                return nil
            }
            return .patterns(patterns, service: service, base: base, generation)
        default: return nil
        }
    }

    private func sealed(_ plain: [UInt8]) -> [UInt8] {
        var out = OctetWriter(room: plain.count + 64)
        out.append(run: namespace)
        out.append(run: plain)
        return out.octets
    }
}

extension OctetReader {
    /// A run of UTF-8.
    mutating func text() -> String? { run().flatMap { String(validating: $0, as: UTF8.self) } }

    fileprivate mutating func generation() -> Generation? { run().flatMap(Generation.init) }
}
