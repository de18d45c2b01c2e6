// SPDX-License-Identifier: Apache-2.0

extension TargetURI {
    /// The URIs that origins may take this one for, itself included where it is plainly written: with `%2F`, `\` and
    /// `%5C` as slashes, no empty segments, no `.` or `..`, no parameters at the ends of segments, and characters
    /// without their needless escapes (`/a//b;x`, `/a%2Fb`, `/a\b` for `/a/b`; `/%40me` for `/@me`). Where characters
    /// are encoded more than once (`/a%252Fb`), they are also decoded as often.
    ///
    /// Readers differ about where a parameter ends that contains an encoded slash, so there may be several.
    ///
    /// - Parameter base: a prefix that is also left as it is written.
    package func readings(below base: TargetURI?) -> [TargetURI] {
        let origin = withBytes(of: 0..<pathRange.lowerBound) { Array($0) }
        let query = withBytes(of: pathRange.upperBound..<pathAndQueryRange.upperBound) { Array($0) }
        var paths: [[UInt8]] = []
        for start in Set([0, base.map { $0.pathRange.count - 1 } ?? 0]).sorted() where start <= pathRange.count {
            let (prefix, rest) = withBytes(of: pathRange) { (Array($0[..<start]), Array($0[start...])) }
            let isEncodedTwice = TargetURI.isEncodedTwice(rest.span.bytes)
            for rest in isEncodedTwice ? [rest, TargetURI.decodedRepeatedly(rest.span.bytes)] : [rest] {
                for endsParameters in [true, false] {
                    let path = prefix + PlainPath.octets(of: rest, codedSlashesEndParameters: endsParameters)
                    if !paths.contains(path) { paths.append(path) }
                }
            }
        }
        // Different paths may still be one in normal form.
        return paths.reduce(into: []) { readings, path in
            guard let reading = try? TargetURI(String(decoding: origin + path + query, as: UTF8.self)),
                !readings.contains(reading)
            else { return }
            readings.append(reading)
        }
    }
}

/// Paths as the most lenient of their readers may take them.
package enum PlainPath {
    /// - Parameters:
    ///   - path: with a leading slash, or what is taken to follow one.
    ///   - codedSlashesEndParameters: whether a parameter ends at `%2F`, `%5C` and `\` too, not at a slash alone.
    ///   - isPattern: whether `*` is a wildcard, which stays as it is.
    package static func octets(
        of path: some Sequence<UInt8>, codedSlashesEndParameters: Bool = true, isPattern: Bool = false
    ) -> [UInt8] {
        joined(segments(of: Array(path).span.bytes, codedSlashesEndParameters, isPattern))
    }

    private static func segments(
        of path: RawSpan, _ codedSlashesEndParameters: Bool, _ isPattern: Bool
    ) -> [[UInt8]] {
        var segments: [[UInt8]] = [[]]
        var isParameter = false
        var index = 0
        while index < path.byteCount {
            let (octet, length) = TargetURI.unescaped(path, at: index)
            switch octet {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"):
                let isPlain = length == 1 && octet == UInt8(ascii: "/")
                guard isPlain || codedSlashesEndParameters || !isParameter else { break }
                isParameter = false
                segments.append([])
            case UInt8(ascii: ";"): isParameter = true
            case UInt8(ascii: "*"): if !isParameter { segments[segments.count - 1] += wildcard(length, isPattern) }
            default:
                guard !isParameter else { break }
                if isNeedlesslyEscaped(octet) {
                    segments[segments.count - 1].append(octet)
                } else {
                    segments[segments.count - 1].append(path.extracting(index..<index + length))
                }
            }
            index += length
        }
        return segments
    }

    /// `*` in a URI is written as patterns have to write it.
    private static func wildcard(_ length: Int, _ isPattern: Bool) -> [UInt8] {
        isPattern && length == 1 ? [UInt8(ascii: "*")] : Array("%2A".utf8)
    }

    /// True if origins may take the byte for its escaped form (RFC 3986 §3.3: `pchar`, without `;` and `*`).
    private static func isNeedlesslyEscaped(_ octet: UInt8) -> Bool {
        URICharacter.isUnreserved(octet) || "!$&'()+,=:@".utf8.contains(octet)
    }

    private static func joined(_ segments: [[UInt8]]) -> [UInt8] {
        var kept: [[UInt8]] = []
        for (number, segment) in segments.enumerated().dropFirst(segments.first?.isEmpty == true ? 1 : 0) {
            let isLast = number == segments.count - 1
            switch segment {
            case [], Array(".".utf8): if isLast { kept.append([]) }
            case Array("..".utf8):
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        return kept.reduce(into: []) { $0 += [UInt8(ascii: "/")] + $1 }
    }
}
