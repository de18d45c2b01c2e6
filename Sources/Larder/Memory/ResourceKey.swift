// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The identity of a Resource: its service, its partition, and the normalised URL, as one run of bytes with its hash
/// (model: 3.1, T-03).
///
/// A key is rebuilt in place for every request, so that looking a Resource up allocates nothing.
package struct ResourceKey: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// A hash of `bytes`, keyed anew in every process so that colliding URLs cannot be chosen.
    package private(set) var hash: UInt64 = 0
    /// The start of the URL in `bytes`.
    private var urlStart = 0
    /// The end of the URL: the end of `bytes`, or the start of the content's mark.
    private var urlEnd = 0

    package init() { bytes.reserveCapacity(256) }

    /// A key with a given hash, to test accidental collisions.
    init(bytes: [UInt8], hash: UInt64) {
        self.bytes = bytes
        self.hash = hash
        urlEnd = bytes.count
    }

    /// - Parameters:
    ///   - spelling: path and query as the client wrote them, where that is not the normal form. They are forwarded
    ///     unchanged, and the response to one spelling is not served for another.
    ///   - content: the method and digest of the content that is part of the key. It stands behind the URL like a
    ///     fragment, which no target URI has.
    package mutating func set(
        service: UInt32, partition: Partition, url: TargetURI, spelling: [UInt8] = [], content: ContentMark? = nil
    ) {
        // While a copy exists, emptying allocates new storage, a little larger each time.
        bytes.removeAll(keepingCapacity: bytes.capacity <= 1024)
        withUnsafeBytes(of: service.bigEndian) { bytes.append($0) }
        bytes.append(partition.name)
        bytes.append(0)
        urlStart = bytes.count
        if spelling.isEmpty {
            url.withBytes { bytes.append($0) }
        } else {
            url.withBytes(of: 0..<url.pathRange.lowerBound) { bytes.append($0) }
            bytes.append(contentsOf: spelling)
        }
        urlEnd = bytes.count
        if let content {
            bytes.append(UInt8(ascii: "#"))
            bytes.append(content.text)
        }
        hash = bytes.withUnsafeBytes { octets in
            var hasher = Hasher()
            hasher.combine(bytes: octets)
            return UInt64(bitPattern: Int64(hasher.finalize()))
        }
    }

    /// A copy of the key in storage of its exact size, for longer use.
    package var compact: ResourceKey {
        var copy = self
        copy.bytes = bytes.withUnsafeBytes { Array($0) }
        return copy
    }

    /// The name of the partition.
    package var partitionName: String {
        // Four bytes of the service precede the name; one byte terminates it.
        urlStart > 4 ? String(decoding: bytes[4..<urlStart - 1], as: UTF8.self) : ""
    }

    /// The URL as it is forwarded, with the mark of the content behind it where that is part of the key.
    package var url: String { String(decoding: bytes[urlStart...], as: UTF8.self) }

    /// Calls `body` with the bytes of `url`.
    package func withURL<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[urlStart...])) }
    }

    /// The URL alone.
    package var plainURL: String { String(decoding: bytes[urlStart..<urlEnd], as: UTF8.self) }

    /// True if the URL is written in its normal form.
    package func isFor(_ url: TargetURI) -> Bool {
        bytes[urlStart..<urlEnd].withUnsafeBytes { own in url.withBytes { ASCII.equal(own, $0) } }
    }

    /// True if content is part of the key.
    package var hasMark: Bool { urlEnd < bytes.count }

    /// The mark of the content.
    package var mark: ContentMark? {
        hasMark ? ContentMark(String(decoding: bytes[(urlEnd + 1)...], as: UTF8.self)) : nil
    }
}

extension ResourceKey: Hashable {
    package static func == (a: ResourceKey, b: ResourceKey) -> Bool {
        a.hash == b.hash && a.bytes.withUnsafeBytes { left in b.bytes.withUnsafeBytes { ASCII.equal(left, $0) } }
    }
    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension ResourceKey {
    /// The number of the service the key belongs to.
    package var serviceNumber: UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
}

/// The hash of a key, which is keyed anew in every process: tables need not hash it once more.
struct KeyHash: Hashable {
    let value: UInt64

    init(_ value: UInt64) { self.value = value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
    func _rawHashValue(seed: Int) -> Int { Int(truncatingIfNeeded: value) ^ seed }
}
