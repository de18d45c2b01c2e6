// SPDX-License-Identifier: Apache-2.0

extension TargetURI {
    /// True if `written`, a path and query (below the path of `base` if there is one), equals this URI's except for how
    /// characters are percent-encoded, and is not identical to it.
    package func differsOnlyInEscapes(from written: UnsafeRawBufferPointer, below base: TargetURI?) -> Bool {
        withBytes(of: pathAndQueryRange) { normal in
            let rest = normal.bytes.extracting(droppingFirst: base.map { $0.pathRange.count - 1 } ?? 0)
            if rest.equals(written) { return false }
            var index = 0
            var position = 0
            while index < written.count {
                guard position < rest.byteCount else { return false }
                let (octet, length) = TargetURI.unescaped(written.bytes, at: index)
                let (expected, step) = TargetURI.unescaped(rest, at: position)
                // An escaped reserved character or dot is not equivalent to the plain one: origins may tell them apart.
                guard octet == expected, length == step || URICharacter.isUnreserved(octet),
                    octet != UInt8(ascii: ".") || length == step
                else { return false }
                index += length
                position += step
            }
            return position == rest.byteCount
        }
    }

    /// The byte at `index`, decoded if it is a percent triplet, and how many bytes it is written with.
    static func unescaped(_ bytes: RawSpan, at index: Int) -> (octet: UInt8, length: Int) {
        guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.byteCount,
            let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
        else { return (bytes[index], 1) }
        return (high << 4 | low, 3)
    }

    /// True if the path has a `..` that is not a whole segment (RFC 3986 §3.3) but becomes a segment if slashes are
    /// decoded, a backslash counts as a slash, a segment ends at a parameter, or an origin decodes more than once:
    /// `/a/..%2fb`, `/a%5C..`, `/a/..;x/b`, `/a/..%252fb`.
    package var hidesDotSegments: Bool {
        let path = storage.span.bytes.extracting(pathRange)
        guard TargetURI.isEncodedTwice(path) else { return TargetURI.hidesDotSegments(path) }
        return TargetURI.hidesDotSegments(TargetURI.decodedRepeatedly(path).span.bytes)
    }

    private static func hidesDotSegments(_ path: RawSpan) -> Bool {
        var index = 1
        while index + 1 < path.byteCount {
            if path[index] == UInt8(ascii: "."), path[index + 1] == UInt8(ascii: "."), mayBeginSegment(path, index),
                mayEndSegment(path, index + 2)
            {
                return true
            }
            index += 1
        }
        return false
    }

    private static func mayBeginSegment(_ path: RawSpan, _ index: Int) -> Bool {
        if path[index - 1] == UInt8(ascii: "/") { return true }
        guard index >= 3, path[index - 3] == UInt8(ascii: "%") else { return false }
        return unescaped(path, at: index - 3).octet == UInt8(ascii: "/")
            || unescaped(path, at: index - 3).octet == UInt8(ascii: "\\")
    }

    /// True if a segment or a path may end here for some reader.
    private static func mayEndSegment(_ path: RawSpan, _ index: Int) -> Bool {
        guard index < path.byteCount else { return true }
        let octet = unescaped(path, at: index).octet
        return octet <= 0x20 || "/\\;?#".utf8.contains(octet)
    }

    // MARK: Characters that are encoded more than once

    /// True if the path has an encoded percent sign, so that it changes where it is decoded once more.
    static func isEncodedTwice(_ path: RawSpan) -> Bool {
        var index = 0
        while index + 2 < path.byteCount {
            if path[index] == UInt8(ascii: "%"), path[index + 1] == UInt8(ascii: "2"),
                path[index + 2] == UInt8(ascii: "5")
            {
                return true
            }
            index += 1
        }
        return false
    }

    /// The path in which no character is encoded more than once, and unreserved characters (RFC 3986 §2.3) are not encoded
    /// at all: `/..%252F` becomes `/..%2F`, `/%25252e` becomes `/.`. Its time grows linearly with the path.
    package static func decodedRepeatedly(_ path: RawSpan) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(path.byteCount)
        for index in 0..<path.byteCount {
            decoded.append(path[index])
            while decodeEnd(of: &decoded) {}
        }
        return decoded
    }

    /// Decodes a triplet of an unreserved character, or `%25` before two hexadecimal digits, at the end of `path`.
    /// False where there is neither.
    private static func decodeEnd(of path: inout [UInt8]) -> Bool {
        let count = path.count
        guard count >= 3, let high = ASCII.hexValue(path[count - 2]), let low = ASCII.hexValue(path[count - 1])
        else { return false }
        if path[count - 3] == UInt8(ascii: "%") {
            guard URICharacter.isUnreserved(high << 4 | low) else { return false }
            path.removeLast(3)
            path.append(high << 4 | low)
            return true
        }
        guard count >= 5, path[(count - 5)..<(count - 2)].elementsEqual("%25".utf8) else { return false }
        path.removeSubrange((count - 4)..<(count - 2))
        return true
    }
}
