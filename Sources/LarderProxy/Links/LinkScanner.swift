// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Finds links in streamed content, and replaces those in its map.
///
/// A link is a URL with its scheme, anywhere, also with escaped slashes as some JSON writers do; and a path in `href`,
/// `src` or a member called `url`. Everything else is unchanged. The possible beginning of a link is held back until
/// the next chunk.
struct LinkScanner {
    let map: LinkMap
    private var held: [UInt8] = []

    /// How far before the current position a link and the octets that identify it may begin.
    private static let lookback = 8

    init(_ map: LinkMap) { self.map = map }

    /// The result for a chunk, and for the octets held back before it.
    mutating func take(_ piece: some Collection<UInt8>, isLast: Bool = false) -> [UInt8] {
        held.append(contentsOf: piece)
        var out: [UInt8] = []
        out.reserveCapacity(held.count + 256)
        let kept = held.withUnsafeBytes { scan(CheckedOctets($0), isLast: isLast, into: &out) }
        held.removeFirst(kept)
        return out
    }

    /// Appends the decided octets to `out`; returns how many octets of input that were.
    private func scan(_ text: CheckedOctets, isLast: Bool, into out: inout [UInt8]) -> Int {
        var done = 0
        var index = 0
        while index < text.count {
            let octet = text[index]
            guard octet == UInt8(ascii: ":") || octet == UInt8(ascii: "=") else {
                index += 1
                continue
            }
            if !isLast, text.count - index < map.reach { break }
            let found =
                octet == UInt8(ascii: ":")
                ? (url(in: text, at: index, from: done) ?? member(in: text, at: index, from: done))
                : attribute(in: text, at: index, from: done)
            guard let found else {
                index += 1
                continue
            }
            out.append(contentsOf: text[done..<found.range.lowerBound])
            out.append(contentsOf: found.target)
            done = found.range.upperBound
            index = max(done, index + 1)
        }
        let end = isLast ? text.count : max(done, min(index, text.count) - LinkScanner.lookback)
        out.append(contentsOf: text[done..<end])
        return end
    }

    private typealias Finding = (range: Range<Int>, target: [UInt8])

    /// A URL whose scheme ends at `colon`.
    private func url(in text: CheckedOctets, at colon: Int, from start: Int) -> Finding? {
        let isEscaped: Bool
        let place: Int
        if LinkScanner.has("//", in: text, at: colon + 1) {
            (isEscaped, place) = (false, colon + 3)
        } else if LinkScanner.has("\\/\\/", in: text, at: colon + 1) {
            (isEscaped, place) = (true, colon + 5)
        } else {
            return nil
        }
        for entry in map.entries {
            let begin = colon - entry.scheme.count
            let wanted = isEscaped ? entry.escapedPlace : entry.place
            guard begin >= start, text.has(entry.scheme, at: begin),
                begin == 0 || !LinkScanner.isLetter(text[begin - 1]), text.has(wanted, at: place),
                LinkScanner.endsName(text, at: place + wanted.count)
            else { continue }
            return (begin..<place + wanted.count, isEscaped ? entry.escapedTarget : entry.target)
        }
        return nil
    }

    /// The path in a JSON member `url`, whose name ends before `colon`.
    private func member(in text: CheckedOctets, at colon: Int, from start: Int) -> Finding? {
        guard !map.locals.isEmpty, colon >= 5, LinkScanner.has("\"url\"", in: text, at: colon - 5) else { return nil }
        var index = colon + 1
        while index < text.count, index < colon + 4, text[index] == 0x20 { index += 1 }
        guard index < text.count, text[index] == UInt8(ascii: "\"") else { return nil }
        return path(in: text, at: index + 1, from: start)
    }

    /// The path in an HTML attribute, whose name ends before `equals`.
    private func attribute(in text: CheckedOctets, at equals: Int, from start: Int) -> Finding? {
        guard !map.locals.isEmpty,
            LinkScanner.has("href", in: text, at: equals - 4, ignoringCase: true)
                || LinkScanner.has("src", in: text, at: equals - 3, ignoringCase: true)
        else { return nil }
        var index = equals + 1
        while index < text.count, index < equals + 4, text[index] == 0x20 { index += 1 }
        if index < text.count, text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "'") { index += 1 }
        return path(in: text, at: index, from: start)
    }

    private func path(in text: CheckedOctets, at index: Int, from start: Int) -> Finding? {
        guard index >= start else { return nil }
        let isEscaped = LinkScanner.has("\\/", in: text, at: index)
        guard isEscaped || LinkScanner.has("/", in: text, at: index),
            !LinkScanner.has("//", in: text, at: index), !LinkScanner.has("\\/\\/", in: text, at: index)
        else { return nil }
        for local in map.locals {
            // A longer path with escaped slashes would have to be compared in another form, and is left unchanged.
            guard isEscaped ? local.path.isEmpty : text.has(local.path, at: index),
                local.path.isEmpty || LinkScanner.endsName(text, at: index + local.path.count)
            else { continue }
            return (index..<index + local.path.count, isEscaped ? local.escapedTarget : local.target)
        }
        return nil
    }

    // MARK: Octets

    private static func has(
        _ wanted: StaticString, in text: CheckedOctets, at index: Int, ignoringCase: Bool = false
    ) -> Bool {
        let count = wanted.utf8CodeUnitCount
        guard index >= 0, index + count <= text.count else { return false }
        return (0..<count).allSatisfy { offset in
            let octet = text[index + offset]
            return (ignoringCase ? octet | 0x20 : octet) == wanted.utf8Start[offset]
        }
    }

    private static func isLetter(_ octet: UInt8) -> Bool { (0x61...0x7A).contains(octet | 0x20) }

    /// Whether a host or path segment ends before `index`.
    private static func endsName(_ text: CheckedOctets, at index: Int) -> Bool {
        guard index < text.count else { return true }
        let octet = text[index]
        return !(isLetter(octet) || (0x30...0x39).contains(octet) || "-._~:@%".utf8.contains(octet))
    }
}
