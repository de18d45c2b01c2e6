// SPDX-License-Identifier: Apache-2.0

/// An absolute `http` or `https` URI in normal form, as bytes: what a request is about (RFC 9110 §7.1), the key
/// of a resource, and what is sent upstream.
///
/// The form follows RFC 3986 §6.2.2–6.2.3: scheme and host in lower case, the default port left out, percent triplets
/// in upper case, unreserved characters decoded, an empty path written `/`, dot segments removed. Queries keep their
/// order. Two URIs are equal exactly when their bytes are.
///
/// Characters that RFC 3986 leaves out but clients do send (`"<>[]^{|}` and the backtick) are percent-encoded. Bytes
/// that could mean different things to different readers are refused instead: controls, space, backslash and
/// everything beyond ASCII.
public struct TargetURI: Sendable {
    /// The two schemes that resources have.
    public enum Scheme: UInt8, Sendable, Hashable {
        /// `http` (RFC 9110 §4.2.1).
        case http
        /// `https` (RFC 9110 §4.2.2).
        case https

        /// The port of a URI that names none.
        @inlinable public var defaultPort: UInt16 { self == .http ? 80 : 443 }
        /// The scheme as it stands in a URI.
        public var text: String { self == .http ? "http" : "https" }
        /// The bytes up to the host: `http://` or `https://`.
        @inlinable package var prefixLength: Int { self == .http ? 7 : 8 }
    }

    /// The longest URI in bytes, as received and in normal form (RFC 9110 §4.1 asks for at least 8000).
    public static let lengthLimit = 16_384

    @usableFromInline var storage: [UInt8]
    /// The scheme.
    public internal(set) var scheme: Scheme
    /// The port, explicit or the scheme's default.
    public internal(set) var port: UInt16
    @usableFromInline var hostEnd: Int32
    @usableFromInline var pathStart: Int32
    /// The position of the query's question mark; the count of bytes if there is no query.
    @usableFromInline var queryStart: Int32

    /// Makes an empty URI to be set later; it equals no other and must not be used as one.
    package init() {
        storage = []
        scheme = .http
        port = 80
        hostEnd = 0
        pathStart = 0
        queryStart = 0
    }

    /// Makes a URI of the text of one, in normal form.
    public init(_ text: some StringProtocol) throws(URIError) {
        self.init()
        let octets = Array(text.utf8)
        try octets.withUnsafeBufferPointer { bytes throws(URIError) in try set(absolute: UnsafeRawBufferPointer(bytes))
        }
    }

    /// Bytes of memory it takes.
    package var capacity: Int { storage.capacity }

    /// A copy of the URI in storage of its exact size, for longer use.
    package var compact: TargetURI {
        var copy = self
        copy.storage = storage.withUnsafeBytes { Array($0) }
        return copy
    }

    // MARK: Reading

    /// The whole URI.
    public var string: String { String(decoding: storage, as: UTF8.self) }
    /// The host: a lower-case name, an IPv4 address, or an IPv6 address in brackets.
    public var host: String { String(decoding: storage[hostRange], as: UTF8.self) }
    /// Host and, unless it is the default, port: what a `Host` field says.
    public var authority: String { String(decoding: storage[authorityRange], as: UTF8.self) }
    /// Scheme, host and port: what credentials and rules are bound to (RFC 6454 §4).
    public var origin: String { String(decoding: storage[..<Int(pathStart)], as: UTF8.self) }
    /// The path, percent-encoded, beginning with a slash.
    public var path: String { String(decoding: storage[pathRange], as: UTF8.self) }
    /// The query without its question mark, or nil.
    public var query: String? {
        Int(queryStart) < storage.count ? String(decoding: storage[(Int(queryStart) + 1)...], as: UTF8.self) : nil
    }
    /// Path and query: the origin-form of a request target (RFC 9112 §3.2.1).
    public var pathAndQuery: String { String(decoding: storage[Int(pathStart)...], as: UTF8.self) }

    @inlinable package var count: Int { storage.count }
    @inlinable package var isEmpty: Bool { storage.isEmpty }
    @inlinable package var hostRange: Range<Int> { min(scheme.prefixLength, Int(hostEnd))..<Int(hostEnd) }
    @inlinable package var authorityRange: Range<Int> { min(scheme.prefixLength, Int(pathStart))..<Int(pathStart) }
    @inlinable package var pathRange: Range<Int> { Int(pathStart)..<Int(queryStart) }
    @inlinable package var pathAndQueryRange: Range<Int> { Int(pathStart)..<storage.count }
    /// True if the port is left out because it is the scheme's own.
    @inlinable public var hasDefaultPort: Bool { port == scheme.defaultPort }

    /// Calls `body` with all bytes, without copying.
    @inlinable
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeBufferPointer { all throws(Failure) in try body(UnsafeRawBufferPointer(all)) }
    }

    /// Calls `body` with the bytes of one part, such as `pathAndQueryRange`, without copying.
    @inlinable
    public func withBytes<Result, Failure: Error>(
        of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeBufferPointer { all throws(Failure) in
            try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[range])))
        }
    }

    /// The kind of the host: a name or an address.
    package var hostKind: HostKind { withBytes(of: hostRange) { URIHost.kind(ofNormalised: $0) } }

    /// True if both have the same scheme, host and port.
    public func hasSameOrigin(as other: TargetURI) -> Bool {
        guard pathStart == other.pathStart, scheme == other.scheme, port == other.port else { return false }
        return withBytes(of: 0..<Int(pathStart)) { origin in
            other.withBytes(of: 0..<Int(pathStart)) { ASCII.equal(origin, $0) }
        }
    }
}

extension TargetURI: Hashable {
    @inlinable
    public static func == (a: TargetURI, b: TargetURI) -> Bool { a.storage == b.storage }

    @inlinable
    public func hash(into hasher: inout Hasher) {
        storage.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension TargetURI: CustomStringConvertible {
    public var description: String { string }
}
