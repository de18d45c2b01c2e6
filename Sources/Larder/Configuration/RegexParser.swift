// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// A regular expression as a tree.
indirect enum RegexNode {
    case empty
    case octets(OctetSet)
    case start
    case end
    case wordBoundary(Bool)
    case sequence([RegexNode])
    case alternatives([RegexNode])
    /// `most` is nil for no upper bound.
    case repeated(RegexNode, least: Int, most: Int?)
}

/// Reads the text of a regular expression.
struct RegexParser {
    private let text: [UInt8]
    private var index = 0
    private var depth = 0
    private let ignoresCase: Bool
    private static let depthLimit = 64
    private static let repetitionLimit = 256

    init(_ text: String, ignoresCase: Bool) {
        self.text = Array(text.utf8)
        self.ignoresCase = ignoresCase
    }

    mutating func parse() throws(PatternError) -> RegexNode {
        let node = try alternatives()
        guard index == text.count else { throw wrong("unmatched closing parenthesis") }
        return node
    }

    private mutating func alternatives() throws(PatternError) -> RegexNode {
        depth += 1
        guard depth <= RegexParser.depthLimit else { throw wrong("too many nested groups") }
        defer { depth -= 1 }
        var branches = [try sequence()]
        while take("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .alternatives(branches)
    }

    private mutating func sequence() throws(PatternError) -> RegexNode {
        var nodes: [RegexNode] = []
        while let octet = peek, octet != UInt8(ascii: "|"), octet != UInt8(ascii: ")") {
            nodes.append(try quantified(try atom()))
        }
        return nodes.count == 1 ? nodes[0] : nodes.isEmpty ? .empty : .sequence(nodes)
    }

    private mutating func quantified(_ atom: RegexNode) throws(PatternError) -> RegexNode {
        let node: RegexNode
        if take("*") {
            node = .repeated(atom, least: 0, most: nil)
        } else if take("+") {
            node = .repeated(atom, least: 1, most: nil)
        } else if take("?") {
            node = .repeated(atom, least: 0, most: 1)
        } else if take("{") {
            guard let least = try number() else { throw wrong("a number must follow {") }
            var most: Int? = least
            if take(",") { most = try number() }
            guard take("}") else { throw wrong("} is missing") }
            guard (most ?? least) >= least else { throw wrong("the bounds of {} are in the wrong order") }
            node = .repeated(atom, least: least, most: most)
        } else {
            return atom
        }
        // Reluctant quantifiers find the same texts; possessive ones do not.
        if take("?") { return node }
        if let octet = peek, "*+{".utf8.contains(octet) { throw wrong("a quantifier follows a quantifier") }
        return node
    }

    private mutating func number() throws(PatternError) -> Int? {
        var value: Int?
        while let octet = peek, ASCII.isDigit(octet) {
            let number = (value ?? 0) * 10 + Int(octet - 0x30)
            guard number <= RegexParser.repetitionLimit else {
                throw wrong("more than \(RegexParser.repetitionLimit) repetitions")
            }
            value = number
            index += 1
        }
        return value
    }

    private mutating func atom() throws(PatternError) -> RegexNode {
        let octet = text[index]
        index += 1
        switch octet {
        case UInt8(ascii: "."): return .octets(.all)
        case UInt8(ascii: "^"): return .start
        case UInt8(ascii: "$"): return .end
        case UInt8(ascii: "["): return .octets(try characterClass())
        case UInt8(ascii: "("):
            if take("?"), !take(":") { throw wrong("look-around, names and options in groups are not supported") }
            let node = try alternatives()
            guard take(")") else { throw wrong(") is missing") }
            return node
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"), UInt8(ascii: "{"):
            index -= 1
            throw wrong("there is nothing to repeat")
        case UInt8(ascii: "\\"):
            if take("b") { return .wordBoundary(true) }
            if take("B") { return .wordBoundary(false) }
            return .octets(folded(try escape()))
        default:
            return .octets(folded(OctetSet([octet])))
        }
    }

    /// What follows a backslash, as a set of octets.
    private mutating func escape() throws(PatternError) -> OctetSet {
        guard let octet = peek else { throw wrong("nothing follows the backslash") }
        index += 1
        switch octet {
        case UInt8(ascii: "d"): return .digit
        case UInt8(ascii: "D"): return OctetSet.digit.inverted
        case UInt8(ascii: "w"): return .word
        case UInt8(ascii: "W"): return OctetSet.word.inverted
        case UInt8(ascii: "s"): return .space
        case UInt8(ascii: "S"): return OctetSet.space.inverted
        default:
            guard !ASCII.isAlpha(octet), !ASCII.isDigit(octet) else {
                index -= 1
                throw wrong("\\\(Character(Unicode.Scalar(octet))) is not supported")
            }
            return OctetSet([octet])
        }
    }

    private mutating func characterClass() throws(PatternError) -> OctetSet {
        let isInverted = take("^")
        var set = OctetSet([])
        var isFirst = true
        while let octet = peek, isFirst || octet != UInt8(ascii: "]") {
            isFirst = false
            index += 1
            if octet == UInt8(ascii: "\\") {
                set.formUnion(try escape())
                continue
            }
            guard take("-") else {
                set.insert(octet)
                continue
            }
            guard var last = peek else { break }
            if last == UInt8(ascii: "]") {
                set.insert(octet)
                set.insert(UInt8(ascii: "-"))
                break
            }
            index += 1
            if last == UInt8(ascii: "\\") {
                guard let escaped = peek, !ASCII.isAlpha(escaped), !ASCII.isDigit(escaped) else {
                    throw wrong("a range ends in a class")
                }
                last = escaped
                index += 1
            }
            guard octet <= last else { throw wrong("a range ends before it begins") }
            set.formUnion(OctetSet(octet...last))
        }
        guard take("]") else { throw wrong("] is missing") }
        let result = folded(set)
        return isInverted ? result.inverted : result
    }

    private func folded(_ set: OctetSet) -> OctetSet { ignoresCase ? set.withBothCases : set }

    private var peek: UInt8? { index < text.count ? text[index] : nil }

    private mutating func take(_ octet: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: octet) else { return false }
        index += 1
        return true
    }

    private func wrong(_ problem: String) -> PatternError { .malformedExpression(at: index, problem) }
}
