// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// What identifies a Resource: its service, the partition of whoever asks, and the normalised URL, as one run of
/// octets with its hash (model: 3.1, T-03).
///
/// A key is rebuilt in place for every request, so that looking a Resource up allocates nothing.
package struct ResourceKey: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// A hash of `bytes`, keyed anew in every process so that nobody can choose URLs that collide.
    package private(set) var hash: UInt64 = 0
    /// Where the URL starts in `bytes`.
    private var urlStart = 0

    package init() { bytes.reserveCapacity(256) }

    package init(service: UInt32, partition: Partition, url: TargetURI) {
        set(service: service, partition: partition, url: url)
    }

    package mutating func set(service: UInt32, partition: Partition, url: TargetURI) {
        bytes.removeAll(keepingCapacity: true)
        withUnsafeBytes(of: service.bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: partition.bytes)
        bytes.append(0)
        urlStart = bytes.count
        url.withBytes { bytes.append(contentsOf: $0) }
        hash = bytes.withUnsafeBytes { octets in
            var hasher = Hasher()
            hasher.combine(bytes: octets)
            return UInt64(bitPattern: Int64(hasher.finalize()))
        }
    }

    package var url: ArraySlice<UInt8> { bytes[urlStart...] }
}

extension ResourceKey: Hashable {
    package static func == (a: ResourceKey, b: ResourceKey) -> Bool { a.hash == b.hash && a.bytes == b.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// The identity namespace a request belongs to (T-03): empty for everybody, else the digest of what tells users
/// apart. It separates memory and store alike.
public struct Partition: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(digest: [UInt8]) { bytes = digest }

    /// Everybody's partition: RFC 9111's shared cache.
    public static let shared = Partition(digest: [])

    /// The digest in hexadecimal, empty for the shared partition; never the secret it was made of.
    public var name: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension ResourceKey {
    /// The number of the service the key belongs to.
    package var serviceNumber: UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
}
