// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Quotation marks as JSON has them on all its levels: plain, with backslashes in strings, as `\u0022` or `\x22`, and as
/// entities in HTML; and the strings between two alike.
struct SecretMarks {
    fileprivate enum Sign {
        case plain
        /// The number of the character, behind a backslash.
        case code
        case entity
    }

    struct Mark {
        /// The bytes of the mark.
        let octets: Range<Int>
        /// How many of them are backslashes.
        fileprivate let backslashes: Int
        fileprivate let sign: Sign

        var isPlain: Bool { sign == .plain && backslashes == 0 }
    }

    /// A string without its marks.
    struct Content {
        var octets: Range<Int>
        /// The place behind the second mark, or where the string breaks off.
        var end: Int
        var isWhole = false
        var hasEscapes = false
        var hasEntities = false
    }

    /// The most backslashes before a mark: enough for five levels. Few strings of different levels can then overlap.
    private static let backslashLimit = 31
    /// Escapes of blanks.
    private static let blanks = Array("nrt".utf8)
    private static let eventData = Array("data:".utf8)

    let text: [UInt8]

    init(_ text: [UInt8]) { self.text = text }

    /// The mark at that place.
    func mark(at start: Int) -> Mark? {
        let behind = backslashEnd(start)
        guard behind - start <= SecretMarks.backslashLimit, behind < text.count, let (sign, end) = sign(at: behind),
            sign != .code || behind > start
        else { return nil }
        return Mark(octets: start..<end, backslashes: behind - start, sign: sign)
    }

    /// The mark that begins at that place, behind its backslashes, and the place behind it.
    private func sign(at place: Int) -> (Sign, end: Int)? {
        guard place < text.count else { return nil }
        switch text[place] {
        case UInt8(ascii: "\""): return (.plain, place + 1)
        case UInt8(ascii: "u"), UInt8(ascii: "x"):
            guard let spelled = SpelledOctet(escape: text[place...]) else { return nil }
            return spelled.octet == UInt8(ascii: "\"") ? (.code, spelled.end) : nil
        case UInt8(ascii: "&"):
            guard let spelled = SpelledOctet(text[place...]) else { return nil }
            return spelled.octet == UInt8(ascii: "\"") ? (.entity, spelled.end) : nil
        default: return nil
        }
    }

    /// The byte at that place, as scripts and HTML spell it too, and the place behind it.
    func octet(at place: Int) -> (octet: UInt8, end: Int)? {
        guard place < text.count else { return nil }
        switch text[place] {
        case UInt8(ascii: "&"): return SpelledOctet(text[place...]).map { ($0.octet, $0.end) }
        case UInt8(ascii: "\\"):
            return SpelledOctet(escape: text[backslashEnd(place)...]).map { ($0.octet, $0.end) }
        case let octet: return (octet, place + 1)
        }
    }

    /// The place behind the backslashes that begin at that place.
    func backslashEnd(_ start: Int) -> Int {
        var place = start
        while place < text.count, text[place] == UInt8(ascii: "\\") { place += 1 }
        return place
    }

    /// The string behind a mark, from `start` on, up to its second mark, the end of the line, the string around it, or
    /// `limit`.
    func content(behind mark: Mark, from start: Int, limit: Int) -> Content {
        var content = Content(octets: start..<start, end: start)
        var place = start
        func end(_ last: Int, _ end: Int, isWhole: Bool = false) -> Content {
            content.octets = start..<last
            content.end = end
            content.isWhole = isWhole
            return content
        }
        while place < limit {
            switch text[place] {
            case UInt8(ascii: "\\"):
                content.hasEscapes = true
                let behind = backslashEnd(place)
                guard let (sign, signEnd) = sign(at: behind), sign == mark.sign else {
                    place = behind
                    continue
                }
                // Backslashes of the text itself are pairs on each level.
                let own = (behind - place) % (2 * (mark.backslashes + 1))
                if own == mark.backslashes {
                    return end(behind - mark.backslashes, signEnd, isWhole: true)
                }
                if own < mark.backslashes { return end(place, place) }
                place = signEnd
            case UInt8(ascii: "\""), UInt8(ascii: "&"):
                let found = sign(at: place)
                if let (sign, signEnd) = found, sign == mark.sign {
                    return mark.backslashes == 0 ? end(place, signEnd, isWhole: true) : end(place, place)
                }
                guard text[place] == UInt8(ascii: "&") else { return end(place, place) }
                if found != nil { content.hasEntities = true }
                place += 1
            case ..<0x20: return end(place, place)
            default: place += 1
            }
        }
        return end(limit, limit)
    }

    private func has(_ octets: [UInt8], at place: Int) -> Bool {
        guard octets.count <= text.count - place else { return false }
        for index in octets.indices where text[place + index] != octets[index] { return false }
        return true
    }

    // MARK: Around strings

    /// The start of the value, if a colon follows, as it does after the name of a member.
    func valueStart(from end: Int) -> Int? {
        guard let (octet, behind) = octet(at: skipBlanks(from: end)), octet == UInt8(ascii: ":") else { return nil }
        return skipBlanks(from: behind)
    }

    /// Skips line ends too, with the name of the field that lines of events have, and both as strings contain them.
    func skipBlanks(from start: Int) -> Int {
        var place = start
        while place < text.count {
            switch text[place] {
            case 0x20, 0x09: place += 1
            case 0x0A, 0x0D:
                place += 1
                if has(SecretMarks.eventData, at: place) { place += SecretMarks.eventData.count }
            case UInt8(ascii: "\\"):
                let behind = backslashEnd(place)
                guard behind < text.count, SecretMarks.blanks.contains(text[behind]) else { return place }
                place = behind + 1
            default: return place
            }
        }
        return place
    }

    /// The end of the secret value that begins with `mark`: after the second mark, even if bytes precede it that no
    /// string may contain; at the end of the line if the second mark seems to belong to another string.
    func valueEnd(behind mark: Mark) -> Int {
        var lineEnd: Int?
        var place = mark.octets.upperBound
        while place < text.count {
            let content = content(behind: mark, from: place, limit: text.count)
            if content.isWhole {
                guard let lineEnd else { return content.end }
                let next = skipBlanks(from: content.end)
                return next == text.count
                    || [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(text[next])
                    ? content.end : lineEnd
            }
            guard content.end < text.count, text[content.end] < 0x20 else { return lineEnd ?? content.end }
            let isLineEnd = text[content.end] == 0x0A || text[content.end] == 0x0D
            lineEnd = lineEnd ?? (isLineEnd ? content.end : nil)
            place = content.end + 1
        }
        return text.count
    }
}
