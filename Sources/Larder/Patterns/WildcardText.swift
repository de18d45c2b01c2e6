// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// Bytes with wildcards in them, matched as a whole in time proportional to the text times the wildcards.
struct WildcardText: Sendable, Hashable {
    enum Element: Sendable, Hashable {
        case literal([UInt8])
        /// `?`: one byte other than a slash.
        case one
        /// `*`: any number of bytes other than a slash.
        case segment
        /// `**`: any number of bytes.
        case anything
        /// `**/`: nothing, or anything that ends in a slash.
        case segments
    }

    private let elements: [Element]

    var wildcardCount: Int {
        elements.count { element in if case .literal = element { false } else { true } }
    }

    /// Compiles the path of a pattern. One leading slash of a relative one is dropped; an absolute one without a path
    /// means `/`. Literals get the normal form that paths have.
    init(path: ArraySlice<UInt8>, isAbsolute: Bool) throws(PatternError) {
        var rest = path
        if isAbsolute {
            if rest.isEmpty { rest = [UInt8(ascii: "/")] }
        } else if rest.first == UInt8(ascii: "/") {
            rest = rest.dropFirst()
        }
        for part in rest.split(separator: UInt8(ascii: "/"))
        where part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8) {
            throw .dotSegment
        }
        elements = try WildcardText.compile(rest, hasSegments: true) { octet throws(PatternError) in
            switch URICharacter.kind(of: octet) {
            case .plain: return [octet]
            case .encoded: return PercentText.triplet(octet)
            // A space and anything beyond ASCII are literals that URLs contain in encoded form.
            case .refused where octet == 0x20 || octet >= 0x80: return PercentText.triplet(octet)
            case .refused, .percent: throw .refusedCharacter(octet)
            }
        }
    }

    /// Compiles a label of a host.
    init(label: ArraySlice<UInt8>) throws(PatternError) {
        guard !label.isEmpty else { throw .invalidHost }
        elements = try WildcardText.compile(label, hasSegments: false) { octet throws(PatternError) in
            guard ASCII.isAlpha(octet) || ASCII.isDigit(octet) || octet == 0x2D || octet == 0x5F else {
                throw .invalidHost
            }
            return [ASCII.lowercased(octet)]
        }
        for pair in zip(elements, elements.dropFirst()) where pair == (.segment, .segment) { throw .invalidHost }
    }

    private static func compile(
        _ text: ArraySlice<UInt8>, hasSegments: Bool, literal: (UInt8) throws(PatternError) -> [UInt8]
    ) throws(PatternError) -> [Element] {
        var elements: [Element] = []
        var run: [UInt8] = []
        func flush() {
            if !run.isEmpty { elements.append(.literal(run)) }
            run = []
        }
        var index = text.startIndex
        while index < text.endIndex {
            switch text[index] {
            case UInt8(ascii: "*"):
                flush()
                if hasSegments, text[index...].starts(with: "**/".utf8) {
                    elements.append(.segments)
                    index += 3
                } else if hasSegments, text[index...].starts(with: "**".utf8) {
                    elements.append(.anything)
                    index += 2
                } else {
                    elements.append(.segment)
                    index += 1
                }
            case UInt8(ascii: "?"):
                flush()
                elements.append(.one)
                index += 1
            case UInt8(ascii: "%") where hasSegments:
                guard index + 2 < text.endIndex, let high = ASCII.hexValue(text[index + 1]),
                    let low = ASCII.hexValue(text[index + 2])
                else { throw .invalidPercentEncoding }
                let octet = high << 4 | low
                run += URICharacter.isUnreserved(octet) ? [octet] : PercentText.triplet(octet)
                index += 3
            default:
                run += try literal(text[index])
                index += 1
            }
        }
        flush()
        return elements
    }

    /// True if the bytes of `text` from `start` on match.
    func matches(_ octets: UnsafeRawBufferPointer, from start: Int) -> Bool {
        let text = CheckedOctets(octets)
        guard start <= text.count else { return false }
        var index = start
        var rest = elements[...]
        // Literals before the first wildcard are compared once; most patterns need no more.
        while case .literal(let run) = rest.first {
            guard text.has(run, at: index) else { return false }
            index += run.count
            rest = rest.dropFirst()
        }
        guard !rest.isEmpty else { return index == text.count }
        if rest.count == 1, rest.first == .anything { return true }
        var reachable = [Bool](repeating: false, count: text.count + 1)
        reachable[index] = true
        for element in rest {
            reachable = WildcardText.advance(reachable, through: element, in: text)
        }
        return reachable[text.count]
    }

    /// The offsets that can be reached from `reachable` by matching `element`.
    private static func advance(
        _ reachable: [Bool], through element: Element, in text: CheckedOctets
    ) -> [Bool] {
        var next = [Bool](repeating: false, count: reachable.count)
        var isCovered = false
        for offset in 0...text.count {
            switch element {
            case .literal(let run):
                if reachable[offset], text.has(run, at: offset) { next[offset + run.count] = true }
            case .one:
                guard reachable[offset], offset < text.count, text[offset] != 0x2F else { continue }
                next[offset + 1] = true
            case .segment:
                if reachable[offset] { isCovered = true }
                next[offset] = isCovered
                if offset < text.count, text[offset] == 0x2F { isCovered = false }
            case .anything:
                if reachable[offset] { isCovered = true }
                next[offset] = isCovered
            case .segments:
                next[offset] = reachable[offset] || (isCovered && offset > 0 && text[offset - 1] == 0x2F)
                if reachable[offset] { isCovered = true }
            }
        }
        return next
    }
}
