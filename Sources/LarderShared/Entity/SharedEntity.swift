// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP
package import LarderStores

/// A stored response as the engine has it: the columns of the store's row, and the place of its content.
package struct SharedEntity: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// In the entity itself.
        case inline([UInt8])
        /// In pieces of `pieceLength` bytes, the last of which may be shorter.
        case pieces([ContentDigest], length: Int64)
        /// In so many pieces that their digests are stored in pieces as well: `listLength` digests in each piece, fewer
        /// in the last.
        case lists([ContentDigest], length: Int64)

        package var length: Int64 {
            switch self {
            case .inline(let octets): Int64(octets.count)
            case .pieces(_, let length), .lists(_, let length): length
            }
        }
    }

    /// Content of at most so many bytes is in the entity.
    package static let inlineLimit = 4 << 10
    package static let pieceLength = 256 << 10
    /// The digests of more pieces than that are in lists.
    package static let pieceLimit = 128
    /// So many digests are as long as a piece.
    package static let listLength = pieceLength / digestLength
    package static let digestLength = 32

    /// Identifies the variant; equal for responses selected by the same requests.
    package let variant: [UInt8]
    /// The head as in a row of the store.
    package let head: [UInt8]
    package let requestTime: Timestamp
    package let responseTime: Timestamp
    /// The groups it belongs to, at `origin`.
    package let groups: [String]
    package let origin: String
    /// True if the content is not the whole representation.
    package let isPart: Bool
    package let content: Content

    package init(
        variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp, groups: [String],
        origin: String, isPart: Bool = false, content: Content
    ) {
        self.variant = variant
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.groups = groups
        self.origin = origin
        self.isPart = isPart
        self.content = content
    }

    /// The scopes that end it when they are invalidated, besides its URL.
    package func scopes(of key: SharedKey) -> [SharedScope] {
        [.everything, .service(name: key.service, base: key.base)]
            + groups.flatMap { [.group($0, origin: origin), .group($0, origin: nil)] }
    }
}

/// Sealed entities as bytes, and back. Bytes that sealing did not produce give nil: a miss.
package struct EntityCoding: Sendable {
    private static let version: UInt8 = 1
    private let namespace: String
    private let seal: Seal

    package init(namespace: String, seal: Seal) {
        self.namespace = namespace
        self.seal = seal
    }

    /// An entity that opened, and its conditions of validity.
    package struct Opened: Sendable, Equatable {
        package let entity: SharedEntity
        package let generations: EntityGenerations
    }

    package func encode(_ entity: SharedEntity, under key: SharedKey, in generations: EntityGenerations) -> [UInt8] {
        var out = OctetWriter(room: entity.head.count + 512)
        out.append(EntityCoding.version)
        out.append(run: entity.variant)
        out.append(run: entity.head)
        out.append(time: entity.requestTime)
        out.append(time: entity.responseTime)
        out.append(run: entity.origin)
        out.append(entity.isPart ? 1 : UInt8(0))
        out.append(count: entity.groups.count)
        for group in entity.groups { out.append(run: group) }
        out.append(optional: generations.url?.octets)
        out.append(count: generations.scopes.count)
        for generation in generations.scopes { out.append(run: generation.octets) }
        switch entity.content {
        case .inline(let octets):
            out.append(UInt8(0))
            out.append(run: octets)
        case .pieces(let digests, let length): EntityCoding.append(digests, length, as: 1, to: &out)
        case .lists(let digests, let length): EntityCoding.append(digests, length, as: 2, to: &out)
        }
        return out.octets + seal.code(for: sealed(out.octets, under: key), as: .entity)
    }

    private static func append(_ digests: [ContentDigest], _ length: Int64, as kind: UInt8, to out: inout OctetWriter) {
        out.append(kind)
        out.append(place: length)
        out.append(count: digests.count)
        for digest in digests { out.append(run: digest.bytes) }
    }

    /// Opens bytes that were found under `key`.
    package func decode(_ octets: [UInt8], under key: SharedKey) -> Opened? {
        guard octets.count > Seal.length else { return nil }
        let plain = Array(octets.dropLast(Seal.length))
        guard seal.verifies(Array(octets.suffix(Seal.length)), for: sealed(plain, under: key), as: .entity) else {
            return nil
        }
        var reader = OctetReader(plain)
        guard reader.byte() == EntityCoding.version, let variant = reader.run(), let head = reader.run(),
            let requestTime = reader.time(), let responseTime = reader.time(), let origin = reader.text(),
            let part = reader.byte(), part <= 1,
            let groups = EntityCoding.list(&reader, { $0.text() }), case .some(let url) = reader.optional(),
            let scopes = EntityCoding.list(&reader, { $0.run().flatMap(Generation.init) }),
            let content = EntityCoding.content(&reader), reader.isAtEnd
        else { return nil }
        var generation: Generation?
        if let url {
            guard let known = Generation(url) else { return nil }
            generation = known
        }
        let entity = SharedEntity(
            variant: variant, head: head, requestTime: requestTime, responseTime: responseTime, groups: groups,
            origin: origin, isPart: part == 1, content: content)
        guard scopes.count == entity.scopes(of: key).count else { return nil }
        return Opened(entity: entity, generations: EntityGenerations(url: generation, scopes: scopes))
    }

    /// The bytes under the seal: the place and the entity, so that a seal is valid in no other place.
    private func sealed(_ plain: [UInt8], under key: SharedKey) -> [UInt8] {
        var out = OctetWriter(room: plain.count + key.url.count + 128)
        out.append(run: namespace)
        out.append(run: key.service)
        out.append(run: key.base)
        out.append(run: key.url)
        out.append(run: key.owner)
        out.append(run: plain)
        return out.octets
    }

    private static func content(_ reader: inout OctetReader) -> SharedEntity.Content? {
        switch reader.byte() {
        case 0:
            guard let octets = reader.run(), octets.count <= SharedEntity.inlineLimit else { return nil }
            return .inline(octets)
        case let kind? where kind <= 2:
            guard let length = reader.place(), length > 0,
                let digests = list(&reader, { $0.run().flatMap(ContentDigest.init) })
            else { return nil }
            let pieces = SharedContent.count(of: length)
            let isListed = pieces > SharedEntity.pieceLimit
            guard isListed == (kind == 2), digests.count == (isListed ? SharedContent.lists(of: pieces) : pieces) else {
                return nil
            }
            return isListed ? .lists(digests, length: length) : .pieces(digests, length: length)
        default: return nil
        }
    }

    private static func list<Element>(
        _ reader: inout OctetReader, _ element: (inout OctetReader) -> Element?
    ) -> [Element]? {
        guard let count = reader.count() else { return nil }
        var elements: [Element] = []
        for _ in 0..<count {
            guard let next = element(&reader) else { return nil }
            elements.append(next)
        }
        return elements
    }
}

extension OctetWriter {
    /// An instant in nanoseconds since the Unix epoch; those before it do not occur.
    fileprivate mutating func append(time: Timestamp) { append(place: max(0, time.nanoseconds)) }
}

extension OctetReader {
    fileprivate mutating func time() -> Timestamp? { place().map { Timestamp(nanoseconds: $0) } }
}

extension ContentDigest {
    /// Takes 32 bytes; nil for any other number.
    init?(_ octets: [UInt8]) {
        guard let digest = octets.withUnsafeBytes({ ContentDigest($0) }) else { return nil }
        self = digest
    }
}
