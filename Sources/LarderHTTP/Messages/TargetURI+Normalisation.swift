// SPDX-License-Identifier: Apache-2.0

/// Setting a URI from received bytes. Each form writes the normal form into the URI's existing storage, so that a
/// connection that reuses one allocates nothing for the next request; after an error the URI is empty.
extension TargetURI {
    /// Sets the URI to an absolute-form target (RFC 9112 §3.2.2). `keepingDotSegments` leaves `.` and `..` in the
    /// path, for URIs that were built from parts rather than received.
    package mutating func set(
        absolute bytes: UnsafeRawBufferPointer, keepingDotSegments: Bool = false
    ) throws(URIError) {
        clear()
        guard !bytes.isEmpty else { throw .empty }
        guard let scheme = Scheme(prefixOf: bytes) else { throw .unsupportedScheme }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[scheme.prefixLength...])
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.count
        try set(
            scheme: scheme, authority: UnsafeRawBufferPointer(rebasing: rest[..<end]),
            pathAndQuery: UnsafeRawBufferPointer(rebasing: rest[end...]), keepingDotSegments: keepingDotSegments)
    }

    /// Sets the URI to an origin-form target at the authority of the `Host` field or of a tunnel (RFC 9112 §3.3). An
    /// empty `pathAndQuery` means `/`.
    package mutating func set(
        scheme: Scheme, authority: UnsafeRawBufferPointer, pathAndQuery: UnsafeRawBufferPointer,
        keepingDotSegments: Bool = false
    ) throws(URIError) {
        clear()
        guard authority.count + pathAndQuery.count <= TargetURI.lengthLimit else { throw .tooLong }
        do throws(URIError) {
            try writeOrigin(scheme, authority)
            let first = pathAndQuery.first
            if first != 0x2F {
                guard first == nil || first == 0x3F || first == 0x23 else { throw .relativePath }
                storage.append(0x2F)
            }
            try writePathAndQuery(pathAndQuery.bytes, floor: Int(pathStart), baseQuery: RawSpan(), keepingDotSegments)
        } catch {
            clear()
            throw error
        }
    }

    /// Appends the part after a gateway's mount to `base`: one leading slash of `suffix` is dropped, a slash is
    /// inserted between the two if `base` does not end in one, dot segments do not climb out of `base`, and the base's
    /// query comes before the suffix's.
    package mutating func set(base: TargetURI, pathAndQuery suffix: UnsafeRawBufferPointer) throws(URIError) {
        clear()
        guard base.count + suffix.count <= TargetURI.lengthLimit else { throw .tooLong }
        scheme = base.scheme
        port = base.port
        hostEnd = base.hostEnd
        pathStart = base.pathStart
        base.withBytes { storage.append(contentsOf: $0[..<Int(base.queryStart)]) }
        if storage.last != 0x2F { storage.append(0x2F) }
        let floor = storage.count - 1
        let rest = suffix.first == 0x2F ? UnsafeRawBufferPointer(rebasing: suffix[1...]) : suffix
        do throws(URIError) {
            try base.withBytes(of: min(Int(base.queryStart) + 1, base.count)..<base.count) { query throws(URIError) in
                try writePathAndQuery(rest.bytes, floor: floor, baseQuery: query.bytes, false)
            }
        } catch {
            clear()
            throw error
        }
    }

    /// Empties the URI and keeps its storage.
    package mutating func clear() {
        // While a copy of the URI exists, emptying allocates new storage, a little larger each time.
        storage.removeAll(keepingCapacity: storage.capacity <= 1024)
        hostEnd = 0
        pathStart = 0
        queryStart = 0
    }

    // MARK: Private parts

    private mutating func writeOrigin(_ scheme: Scheme, _ authority: UnsafeRawBufferPointer) throws(URIError) {
        self.scheme = scheme
        let (host, digits) = try URIHost.split(authority)
        if scheme == .http { storage.append(contentsOf: httpPrefix) } else { storage.append(contentsOf: httpsPrefix) }
        try URIHost.append(host, to: &storage)
        hostEnd = Int32(storage.count)
        port = scheme.defaultPort
        if let digits, let explicit = try URIHost.port(digits.bytes), explicit != port {
            port = explicit
            storage.append(0x3A)
            storage.append(contentsOf: String(explicit).utf8)
        }
        pathStart = Int32(storage.count)
    }

    /// Appends `text` (path, optional query) to the storage. Nothing before `floor`, which is the offset of a slash, is
    /// ever removed by a `..`.
    private mutating func writePathAndQuery(
        _ text: RawSpan, floor: Int, baseQuery: RawSpan, _ keepingDotSegments: Bool
    ) throws(URIError) {
        var index = URICharacter.plainPrefix(of: text, from: 0)
        storage.append(text.extracting(first: index))
        while index < text.byteCount, text[index] != 0x3F { try writeOctet(text, &index) }
        if !keepingDotSegments { removeDotSegments(from: floor) }
        queryStart = Int32(storage.count)
        if !baseQuery.isEmpty {
            storage.append(0x3F)
            storage.append(baseQuery)
        }
        if index < text.byteCount {
            storage.append(baseQuery.isEmpty ? 0x3F : 0x26)
            index += 1
            while index < text.byteCount {
                let end = URICharacter.plainQueryPrefix(of: text, from: index)
                storage.append(text.extracting(index..<end))
                index = end
                if index < text.byteCount { try writeOctet(text, &index, isInQuery: true) }
            }
        }
        guard storage.count <= TargetURI.lengthLimit else { throw .tooLong }
    }

    /// Appends the normal form of the byte or percent triplet at `index` and moves past it.
    ///
    /// - Parameter isInQuery: where a percent sign without two digits means itself, as does a backslash: browsers send
    ///   both as they are written, and no path can hide in them.
    @inline(__always)
    private mutating func writeOctet(
        _ text: RawSpan, _ index: inout Int, isInQuery: Bool = false
    ) throws(URIError) {
        let octet = text[index]
        switch URICharacter.kind(of: octet) {
        case .plain:
            storage.append(octet)
        case .percent:
            guard index + 2 < text.byteCount, let high = ASCII.hexValue(text[index + 1]),
                let low = ASCII.hexValue(text[index + 2])
            else {
                guard isInQuery else { throw .invalidPercentEncoding(at: index) }
                appendTriplet(octet)
                break
            }
            let decoded = high << 4 | low
            if URICharacter.isUnreserved(decoded) { storage.append(decoded) } else { appendTriplet(decoded) }
            index += 2
        case .encoded:
            appendTriplet(octet)
        case .refused where isInQuery && octet == UInt8(ascii: "\\"):
            appendTriplet(octet)
        case .refused:
            throw octet == 0x23 ? .fragment : .invalidCharacter(octet, at: index)
        }
        index += 1
    }

    private mutating func appendTriplet(_ octet: UInt8) {
        storage.append(0x25)
        storage.append(URICharacter.hexDigit(octet >> 4))
        storage.append(URICharacter.hexDigit(octet & 15))
    }

    /// RFC 3986 §5.2.4 on the storage behind `floor`, in place.
    private mutating func removeDotSegments(from floor: Int) {
        let end = storage.count
        // No such segment, the usual case, means that nothing moves.
        guard var read = nextDotSegment(from: floor, end) else { return }
        var write = read
        while read < end {
            var next = read + 1
            while next < end, storage[next] != 0x2F { next += 1 }
            let length = next - read - 1
            if length == 1, storage[read + 1] == 0x2E {
                if next == end {
                    storage[write] = 0x2F
                    write += 1
                }
            } else if length == 2, storage[read + 1] == 0x2E, storage[read + 2] == 0x2E {
                while write > floor {
                    write -= 1
                    if storage[write] == 0x2F { break }
                }
                if next == end {
                    storage[write] = 0x2F
                    write += 1
                }
            } else {
                for offset in read..<next {
                    storage[write] = storage[offset]
                    write += 1
                }
            }
            read = next
        }
        storage.removeLast(end - write)
    }

    /// The offset of the slash before the next `.` or `..` segment.
    private func nextDotSegment(from start: Int, _ end: Int) -> Int? {
        let bytes = storage.span
        var index = start
        while index + 1 < end {
            if bytes[index] == 0x2F, bytes[index + 1] == 0x2E {
                if index + 2 == end || bytes[index + 2] == 0x2F { return index }
                if bytes[index + 2] == 0x2E, index + 3 == end || bytes[index + 3] == 0x2F { return index }
            }
            index += 1
        }
        return nil
    }
}

private let httpPrefix = Array("http://".utf8)
private let httpsPrefix = Array("https://".utf8)

extension TargetURI.Scheme {
    /// The scheme `bytes` begin with, slashes included.
    package init?(prefixOf bytes: UnsafeRawBufferPointer) {
        if ASCII.equalFolded(UnsafeRawBufferPointer(rebasing: bytes.prefix(7)), "http://") {
            self = .http
        } else if ASCII.equalFolded(UnsafeRawBufferPointer(rebasing: bytes.prefix(8)), "https://") {
            self = .https
        } else {
            return nil
        }
    }
}

extension ASCII {
    fileprivate static func equalFolded(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        equalFolded(bytes, UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

/// The role of each byte inside a path or query.
package enum URICharacter {
    package enum Kind: UInt8, Sendable {
        /// RFC 3986 pchar, `/` or `?`: written unchanged.
        case plain
        case percent
        /// Printable, outside RFC 3986's sets, unambiguous: written as a percent triplet.
        case encoded
        case refused
    }

    private static let kinds: [Kind] = (0..<256).map { code in
        let octet = UInt8(code)
        if isUnreserved(octet) || "!$&'()*+,;=:@/?".utf8.contains(octet) { return .plain }
        if octet == UInt8(ascii: "%") { return .percent }
        return "\"<>[]^`{|}".utf8.contains(octet) ? .encoded : .refused
    }

    package static func kind(of octet: UInt8) -> Kind { kinds[Int(octet)] }

    /// RFC 3986 §2.3.
    package static func isUnreserved(_ octet: UInt8) -> Bool {
        ASCII.isAlpha(octet) || ASCII.isDigit(octet) || octet == 0x2D || octet == 0x2E || octet == 0x5F || octet == 0x7E
    }

    package static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

    /// The length of the prefix of a path, from `start`, that needs no normalisation; stops at a question mark.
    static func plainPrefix(of text: RawSpan, from start: Int) -> Int {
        let kinds = kinds.span
        var index = start
        while index < text.byteCount, kinds[Int(text[index])] == .plain, text[index] != 0x3F { index &+= 1 }
        return index
    }

    static func plainQueryPrefix(of text: RawSpan, from start: Int) -> Int {
        let kinds = kinds.span
        var index = start
        while index < text.byteCount, kinds[Int(text[index])] == .plain { index &+= 1 }
        return index
    }
}
