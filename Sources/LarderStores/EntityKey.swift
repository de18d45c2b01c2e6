// SPDX-License-Identifier: Apache-2.0

/// What an entity is stored under: whose it is, who may see it, which stage of the pipeline made it, and its URL.
package struct EntityKey: Hashable, Sendable {
    package let service: String
    package let partition: String
    package let stage: String
    /// The normalised target URI.
    package let url: String
    /// The four parts in this order, in UTF-8, separated by NUL.
    package let bytes: [UInt8]
    /// The first eight octets of the SHA-256 of `bytes`, big-endian. Two keys may share it; compare `bytes`.
    package let hash: UInt64

    /// Service, partition and stage are chosen by the configuration and must not contain NUL; the URL may hold
    /// anything, as it comes last.
    package init(service: String, partition: String, stage: String, url: String) {
        self.service = service
        self.partition = partition
        self.stage = stage
        self.url = url
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            service.utf8.count + partition.utf8.count + stage.utf8.count + url.utf8.count + 3)
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
        bytes.append(contentsOf: url.utf8)
        self.bytes = bytes
        self.hash = ContentDigest(of: bytes).prefix
    }

    /// Takes stored bytes apart; nil if they are not a key.
    package init?(bytes: [UInt8]) {
        let parts = bytes.split(separator: 0, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        service = String(decoding: parts[0], as: UTF8.self)
        partition = String(decoding: parts[1], as: UTF8.self)
        stage = String(decoding: parts[2], as: UTF8.self)
        url = String(decoding: parts[3], as: UTF8.self)
        self.bytes = bytes
        hash = ContentDigest(of: bytes).prefix
    }

    /// Makes a key with a chosen hash, so that tests can make two keys meet.
    init(_ key: EntityKey, hash: UInt64) {
        service = key.service
        partition = key.partition
        stage = key.stage
        url = key.url
        bytes = key.bytes
        self.hash = hash
    }

    package static func == (a: EntityKey, b: EntityKey) -> Bool { a.hash == b.hash && a.bytes == b.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
