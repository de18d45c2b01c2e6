// SPDX-License-Identifier: Apache-2.0

extension TargetURI {
    /// Whether `written`, a path and query (below the path of `base` if there is one), equals this URI's except for how
    /// characters are percent-encoded, and is not identical to it.
    package func differsOnlyInEscapes(from written: UnsafeRawBufferPointer, below base: TargetURI?) -> Bool {
        withBytes(of: pathAndQueryRange) { normal in
            var rest = normal[...]
            if let base { rest = rest.dropFirst(base.pathRange.count - 1) }
            if rest.elementsEqual(written) { return false }
            var index = written.startIndex
            var position = rest.startIndex
            while index < written.endIndex {
                guard position < rest.endIndex else { return false }
                let (octet, length) = TargetURI.unescaped(written, at: index)
                let (expected, step) = TargetURI.unescaped(
                    UnsafeRawBufferPointer(rebasing: rest), at: position - rest.startIndex)
                // An escaped reserved character or dot is not equivalent to the plain one: origins may tell them apart.
                guard octet == expected, length == step || URICharacter.isUnreserved(octet),
                    octet != UInt8(ascii: ".") || length == step
                else { return false }
                index += length
                position += step
            }
            return position == rest.endIndex
        }
    }

    /// The octet at `index`, decoded if it is a percent triplet, and how many octets it is written with.
    static func unescaped(_ bytes: UnsafeRawBufferPointer, at index: Int) -> (octet: UInt8, length: Int) {
        guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = ASCII.hexValue(bytes[index + 1]),
            let low = ASCII.hexValue(bytes[index + 2])
        else { return (bytes[index], 1) }
        return (high << 4 | low, 3)
    }

    /// Whether the path has a `..` that is not a segment of its own (RFC 3986 §3.3) but becomes one where slashes are
    /// decoded, a backslash counts as one, or a segment ends at a parameter: `/a/..%2fb`, `/a%5C..`, `/a/..;x/b`.
    package var hidesDotSegments: Bool {
        withBytes(of: pathRange) { path in
            var index = 1
            while index + 1 < path.count {
                if path[index] == UInt8(ascii: "."), path[index + 1] == UInt8(ascii: "."),
                    TargetURI.mayBeginSegment(path, index), TargetURI.mayEndSegment(path, index + 2)
                {
                    return true
                }
                index += 1
            }
            return false
        }
    }

    private static func mayBeginSegment(_ path: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        if path[index - 1] == UInt8(ascii: "/") { return true }
        guard index >= 3, path[index - 3] == UInt8(ascii: "%") else { return false }
        return unescaped(path, at: index - 3).octet == UInt8(ascii: "/")
            || unescaped(path, at: index - 3).octet == UInt8(ascii: "\\")
    }

    /// Whether a segment or a path may end here for some reader.
    private static func mayEndSegment(_ path: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard index < path.count else { return true }
        let octet = unescaped(path, at: index).octet
        return octet <= 0x20 || "/\\;?#".utf8.contains(octet)
    }
}
