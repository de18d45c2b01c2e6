// SPDX-License-Identifier: Apache-2.0

/// The key of an entity: its service, its partition, its stage of the pipeline, and its URL.
package struct EntityKey: Hashable, Sendable {
    /// The four parts in the order of `init`, in UTF-8, separated by NUL.
    package let bytes: [UInt8]
    /// The first eight bytes of the SHA-256 of `bytes`, big-endian. Two keys may share it; compare `bytes`.
    package let hash: UInt64

    package var service: String { part(0) }
    package var partition: String { part(1) }
    package var stage: String { part(2) }
    /// The normalised target URI.
    package var url: String { part(3) }

    /// - Parameter number: of four; the last holds anything, also what separates the others.
    private func part(_ number: Int) -> String {
        var rest = bytes[...]
        for _ in 0..<number { rest = rest.drop { $0 != 0 }.dropFirst() }
        return String(decoding: number == 3 ? rest : rest.prefix { $0 != 0 }, as: UTF8.self)
    }

    package init(service: String, partition: String, stage: String, url: String) {
        var url = url
        self = url.withUTF8 {
            EntityKey(service: service, partition: partition, stage: stage, url: UnsafeRawBufferPointer($0))
        }
    }

    /// Service, partition and stage are chosen by the configuration and must not contain NUL; the URL may hold
    /// anything, as it comes last.
    package init(service: String, partition: String, stage: String, url: UnsafeRawBufferPointer) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(service.utf8.count + partition.utf8.count + stage.utf8.count + url.count + 3)
        func begin(with part: String) {
            // Holds: names of services are checked when they are read, partitions are digests or words of the
            // sources, stages words; `SQLiteCache` keeps nothing under others.
            precondition(!part.utf8.contains(0), "service, partition and stage of an EntityKey hold no NUL")
            bytes.append(contentsOf: part.utf8)
            bytes.append(0)
        }
        begin(with: service)
        begin(with: partition)
        begin(with: stage)
        bytes.append(contentsOf: url)
        self.init(bytes, hash: ContentDigest(of: bytes).prefix)
    }

    /// Takes stored bytes apart; nil if they are not a key.
    package init?(bytes: [UInt8]) {
        guard bytes.count(where: { $0 == 0 }) >= 3 else { return nil }
        self.init(bytes, hash: ContentDigest(of: bytes).prefix)
    }

    private init(_ bytes: [UInt8], hash: UInt64) {
        self.bytes = bytes
        self.hash = hash
    }

    /// Makes a key with a chosen hash, so that tests can make two keys meet.
    init(_ key: EntityKey, hash: UInt64) { self.init(key.bytes, hash: hash) }

    package static func == (a: EntityKey, b: EntityKey) -> Bool { a.hash == b.hash && a.bytes == b.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
