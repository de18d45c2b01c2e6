// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Finds links in streamed content, and replaces those in its map.
///
/// A link is a URL with its scheme, anywhere, also with escaped slashes as some JSON writers do; and a path in `href`,
/// `src` or a member called `url`. Everything else is unchanged. The possible beginning of a link is held back until
/// the next chunk, and so is a link whose path goes on there, as dot segments may come.
///
/// The time grows with the content's length and no faster: each byte is read once in the search for links, and once as
/// a part of a path.
struct LinkScanner {
    let map: LinkMap
    private var held: [UInt8] = []
    /// The position in `held` at which the search for links goes on.
    private var position = 0
    /// The end of the last path without dot segments. A link that ends before it needs no second look at its path.
    private var plainUntil = 0
    /// The link at `position`, and its path as far as it was read, if `held` ends inside that path.
    private var open: (link: Finding, path: LinkPath)?
    /// Bytes read so far, each as often as it was read, and the cost of comparing and resolving them.
    private(set) var work = 0
    /// Links with dot segments so far.
    private var resolved = 0

    /// How far before the current position a link and the bytes that identify it may begin.
    private static let lookback = 8
    /// How much of a path is looked through for dot segments.
    private static let pathLimit = 4 << 10
    /// The costs of resolving a path, and of comparing with one service, in bytes that are read in the same time.
    private static let resolvingCost = 256
    private static let comparingCost = 4
    /// Links with dot segments that are mapped in one content. Each further one stays as it came.
    static let resolvingLimit = 1000

    init(_ map: LinkMap) { self.map = map }

    /// The result for a chunk, and for the bytes held back before it.
    mutating func take(_ piece: some Collection<UInt8>, isLast: Bool = false) -> [UInt8] {
        var text: [UInt8] = []
        swap(&text, &held)
        text.append(contentsOf: piece)
        var out: [UInt8] = []
        out.reserveCapacity(text.count - position + 256)
        let kept = text.withUnsafeBytes { scan(CheckedOctets($0), isLast: isLast, into: &out) }
        text.removeFirst(kept)
        held = text
        position -= kept
        plainUntil -= kept
        open?.link.move(by: -kept)
        open?.path.move(by: -kept)
        return out
    }

    /// Appends the decided bytes to `out`; returns how many bytes of input that were.
    private mutating func scan(_ text: CheckedOctets, isLast: Bool, into out: inout [UInt8]) -> Int {
        let start = position
        var done = 0
        var index = position
        while index < text.count {
            let octet = text[index]
            guard octet == UInt8(ascii: ":") || octet == UInt8(ascii: "=") else {
                index += 1
                continue
            }
            if !isLast, text.count - index < map.reach { break }
            guard let (found, path) = open.take() ?? link(in: text, at: index, from: done) else {
                index += 1
                continue
            }
            switch replacement(of: found, path, in: text, isLast: isLast) {
            case .link(let range, let target):
                out.append(contentsOf: text.part(done..<range.lowerBound).unchecked)
                out.append(contentsOf: target)
                done = range.upperBound
                index = max(done, index + 1)
                continue
            case .none(let end):
                index = max(end, index + 1)
                continue
            case .undecided: break
            }
            break
        }
        work += index - start
        position = index
        let end = isLast ? text.count : max(done, index - LinkScanner.lookback)
        out.append(contentsOf: text.part(done..<end).unchecked)
        return end
    }

    /// The beginning of a link, which ends with the path of a service, and its equivalent.
    private struct Finding {
        private(set) var range: Range<Int>
        let target: [UInt8]
        let isEscaped: Bool
        /// True if scheme and authority are the page's.
        var isLocal = false

        /// Moves the range by `distance`, as the beginning of the text has moved.
        mutating func move(by distance: Int) {
            range = range.lowerBound + distance..<range.upperBound + distance
        }
    }

    private enum Replacement {
        case link(Range<Int>, target: [UInt8])
        /// The link stays as it came, with all links in its path, which ends at `end`.
        case none(end: Int)
        /// The path may go on in the next chunk.
        case undecided
    }

    /// The part of a link that is replaced, and its replacement. A link whose dot segments lead out of all services
    /// stays as it is.
    private mutating func replacement(
        of found: Finding, _ path: LinkPath, in text: CheckedOctets, isLast: Bool
    ) -> Replacement {
        if found.range.upperBound < plainUntil { return .link(found.range, target: found.target) }
        var path = path
        let before = path.end
        let isCut = path.read(text, to: found.range.upperBound + LinkScanner.pathLimit)
        work += path.end - before
        if isCut, !isLast {
            open = (found, path)
            return .undecided
        }
        guard path.hasDotSegments else {
            plainUntil = path.end
            return .link(found.range, target: found.target)
        }
        resolved += 1
        guard resolved <= LinkScanner.resolvingLimit else { return .none(end: path.end) }
        let range = found.range.lowerBound..<path.end
        work += LinkScanner.resolvingCost + range.count
        let url = text.part(range).filter { !found.isEscaped || $0 != UInt8(ascii: "\\") }
        guard let target = map.target(resolving: found.isLocal ? map.origin + url : url) else {
            return .none(end: path.end)
        }
        return .link(range, target: found.isEscaped ? LinkMap.escaped(target) : target)
    }

    /// A link whose beginning `mark` shows, with nothing read of its path yet.
    private mutating func link(
        in text: CheckedOctets, at mark: Int, from start: Int
    ) -> (link: Finding, path: LinkPath)? {
        let found =
            text[mark] == UInt8(ascii: ":")
            ? (url(in: text, at: mark, from: start) ?? member(in: text, at: mark, from: start))
            : attribute(in: text, at: mark, from: start)
        return found.map { ($0, LinkPath(at: $0.range.upperBound, isEscaped: $0.isEscaped)) }
    }

    /// A URL whose scheme ends at `colon`.
    private mutating func url(in text: CheckedOctets, at colon: Int, from start: Int) -> Finding? {
        let isEscaped: Bool
        let place: Int
        if LinkScanner.has("//", in: text, at: colon + 1) {
            (isEscaped, place) = (false, colon + 3)
        } else if LinkScanner.has("\\/\\/", in: text, at: colon + 1) {
            (isEscaped, place) = (true, colon + 5)
        } else {
            return nil
        }
        work += map.entries.count * LinkScanner.comparingCost
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

    // MARK: Bytes

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

    /// True if a host or path segment ends before `index`.
    private static func endsName(_ text: CheckedOctets, at index: Int) -> Bool {
        guard index < text.count else { return true }
        let octet = text[index]
        return !(isLetter(octet) || (0x30...0x39).contains(octet) || "-._~:@%".utf8.contains(octet))
    }
}
