// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Finds links in streamed content, and replaces those in its map.
///
/// A link is a URL with its scheme, anywhere, also with escaped slashes as some JSON writers do; and a path in `href`,
/// `src` or a member called `url`. Everything else is unchanged. The possible beginning of a link is held back until
/// the next chunk, and so is one whose path goes on there, as dot segments may come.
struct LinkScanner {
    let map: LinkMap
    private var held: [UInt8] = []

    /// How far before the current position a link and the octets that identify it may begin.
    private static let lookback = 8
    /// How much of a path is looked through for dot segments.
    private static let pathLimit = 4 << 10

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
        var plainUntil = 0
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
            guard let found, let link = replaced(found, in: text, isLast: isLast, &plainUntil) else {
                index += 1
                continue
            }
            guard let target = link.target else { break }
            out.append(contentsOf: text[done..<link.range.lowerBound])
            out.append(contentsOf: target)
            done = link.range.upperBound
            index = max(done, index + 1)
        }
        let end = isLast ? text.count : max(done, min(index, text.count) - LinkScanner.lookback)
        out.append(contentsOf: text[done..<end])
        return end
    }

    /// The beginning of a link, up to where its path goes on behind that of a service, and its equivalent.
    private struct Finding {
        let range: Range<Int>
        let target: [UInt8]
        let isEscaped: Bool
        /// Whether scheme and authority are the page's.
        var isLocal = false
    }

    /// The part of a link that is replaced, and by what: nil as long as that is not known. Nothing is replaced where dot
    /// segments lead out of all services.
    ///
    /// - Parameter plainUntil: the end of a path that has none, with all links in it.
    private func replaced(
        _ found: Finding, in text: CheckedOctets, isLast: Bool, _ plainUntil: inout Int
    ) -> (range: Range<Int>, target: [UInt8]?)? {
        if found.range.upperBound < plainUntil { return (found.range, found.target) }
        var path: [UInt8] = []
        var index = found.range.upperBound
        while index < text.count, path.count < LinkScanner.pathLimit, !LinkScanner.endsPath(text[index]) {
            if text[index] == UInt8(ascii: "\\") {
                guard found.isEscaped, index + 1 < text.count, text[index + 1] == UInt8(ascii: "/") else { break }
                index += 1
            }
            path.append(text[index])
            index += 1
        }
        // A backslash may be the beginning of a slash.
        let isCut = index == text.count || index + 1 == text.count && text[index] == UInt8(ascii: "\\")
        if isCut, !isLast, path.count < LinkScanner.pathLimit { return (found.range, nil) }
        guard LinkScanner.hasDotSegments(path) else {
            plainUntil = index
            return (found.range, found.target)
        }
        let beginning = found.isLocal ? map.origin : []
        let known = text[found.range].filter { !found.isEscaped || $0 != UInt8(ascii: "\\") }
        guard let target = map.target(resolving: beginning + known + path) else { return nil }
        return (found.range.lowerBound..<index, found.isEscaped ? LinkMap.escaped(target) : target)
    }

    private static func hasDotSegments(_ path: [UInt8]) -> Bool {
        path.split(separator: UInt8(ascii: "/")).contains { segment in
            guard segment.first == UInt8(ascii: ".") || segment.first == UInt8(ascii: "%"), segment.count <= 6 else {
                return false
            }
            let text = String(decoding: segment, as: UTF8.self).lowercased().replacing("%2e", with: ".")
            return text == "." || text == ".."
        }
    }

    /// Whether a path ends before `octet`: with its URL, or with the query.
    private static func endsPath(_ octet: UInt8) -> Bool {
        octet <= 0x20 || octet == 0x7F || "\"'<>?#`".utf8.contains(octet)
    }

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
            return Finding(
                range: begin..<place + wanted.count, target: isEscaped ? entry.escapedTarget : entry.target,
                isEscaped: isEscaped)
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
            return Finding(
                range: index..<index + local.path.count, target: isEscaped ? local.escapedTarget : local.target,
                isEscaped: isEscaped, isLocal: true)
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
