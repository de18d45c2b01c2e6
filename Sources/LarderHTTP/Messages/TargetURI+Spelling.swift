// SPDX-License-Identifier: Apache-2.0

extension TargetURI {
    /// Whether `written`, a path and query (below the path of `base` if there is one), equals this URI's except for how
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

    /// The octet at `index`, decoded if it is a percent triplet, and how many octets it is written with.
    static func unescaped(_ bytes: RawSpan, at index: Int) -> (octet: UInt8, length: Int) {
        guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.byteCount,
            let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
        else { return (bytes[index], 1) }
        return (high << 4 | low, 3)
    }

    /// Whether the path has a `..` that is not a segment of its own (RFC 3986 §3.3) but becomes one where slashes are
    /// decoded, a backslash counts as one, or a segment ends at a parameter: `/a/..%2fb`, `/a%5C..`, `/a/..;x/b`.
    package var hidesDotSegments: Bool {
        let path = storage.span.bytes.extracting(pathRange)
        var index = 1
        while index + 1 < path.byteCount {
            if path[index] == UInt8(ascii: "."), path[index + 1] == UInt8(ascii: "."),
                TargetURI.mayBeginSegment(path, index), TargetURI.mayEndSegment(path, index + 2)
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

    /// Whether a segment or a path may end here for some reader.
    private static func mayEndSegment(_ path: RawSpan, _ index: Int) -> Bool {
        guard index < path.byteCount else { return true }
        let octet = unescaped(path, at: index).octet
        return octet <= 0x20 || "/\\;?#".utf8.contains(octet)
    }
}
