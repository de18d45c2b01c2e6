// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// A compiled regular expression over octets: a machine that is in several states at once, so that no expression
/// makes it slow.
struct RegexProgram: Sendable {
    static let lengthLimit = 1_024
    /// How large an expression may grow when its counted repetitions are written out.
    static let instructionLimit = 4_096

    enum Instruction: Sendable {
        case octets(OctetSet)
        case split(Int, Int)
        case jump(Int)
        case start
        case end
        case wordBoundary(Bool)
        case match
    }

    private let instructions: [Instruction]

    init(_ text: String, ignoresCase: Bool) throws(PatternError) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= RegexProgram.lengthLimit else { throw .tooLong(limit: RegexProgram.lengthLimit) }
        var parser = RegexParser(text, ignoresCase: ignoresCase)
        let node = try parser.parse()
        var instructions: [Instruction] = []
        guard RegexProgram.emit(node, into: &instructions) else { throw .tooLong(limit: RegexProgram.instructionLimit) }
        instructions.append(.match)
        self.instructions = instructions
    }

    /// Whether the expression matches some part of `text`.
    func isFound(in text: [UInt8]) -> Bool {
        var current = StateSet(count: instructions.count)
        var next = StateSet(count: instructions.count)
        for position in 0...text.count {
            if follow(0, at: position, in: text, &current) { return true }
            guard position < text.count else { return false }
            next.removeAll()
            for state in current.members {
                guard case .octets(let set) = instructions[state], set.contains(text[position]) else { continue }
                if follow(state + 1, at: position + 1, in: text, &next) { return true }
            }
            swap(&current, &next)
        }
        return false
    }

    /// Adds what can be reached from `state` without reading; true when that is a match.
    private func follow(_ state: Int, at position: Int, in text: [UInt8], _ set: inout StateSet) -> Bool {
        var waiting = [state]
        while let state = waiting.popLast() {
            guard set.insert(state) else { continue }
            switch instructions[state] {
            case .octets: break
            case .split(let a, let b): waiting += [b, a]
            case .jump(let target): waiting.append(target)
            case .start: if position == 0 { waiting.append(state + 1) }
            case .end: if position == text.count { waiting.append(state + 1) }
            case .wordBoundary(let isExpected):
                let before = position > 0 && OctetSet.word.contains(text[position - 1])
                let after = position < text.count && OctetSet.word.contains(text[position])
                if (before != after) == isExpected { waiting.append(state + 1) }
            case .match: return true
            }
        }
        return false
    }

    /// Writes the instructions of `node`; false when there would be too many.
    private static func emit(_ node: RegexNode, into code: inout [Instruction]) -> Bool {
        guard code.count < instructionLimit else { return false }
        switch node {
        // Something is written for nothing too, so that the limit holds for repetitions of it.
        case .empty, .repeated(_, _, 0): code.append(.jump(code.count + 1))
        case .octets(let set): code.append(.octets(set))
        case .start: code.append(.start)
        case .end: code.append(.end)
        case .wordBoundary(let isExpected): code.append(.wordBoundary(isExpected))
        case .sequence(let nodes):
            for node in nodes { guard emit(node, into: &code) else { return false } }
        case .alternatives(let nodes):
            var exits: [Int] = []
            for (index, node) in nodes.enumerated() {
                let isLast = index == nodes.count - 1
                let split = code.count
                if !isLast { code.append(.split(split + 1, 0)) }
                guard emit(node, into: &code) else { return false }
                guard !isLast else { continue }
                exits.append(code.count)
                code.append(.jump(0))
                code[split] = .split(split + 1, code.count)
            }
            for exit in exits { code[exit] = .jump(code.count) }
        case .repeated(let node, let least, let most):
            for _ in 0..<least { guard emit(node, into: &code) else { return false } }
            guard let most else {
                let split = code.count
                code.append(.split(split + 1, 0))
                guard emit(node, into: &code) else { return false }
                code.append(.jump(split))
                code[split] = .split(split + 1, code.count)
                return true
            }
            var splits: [Int] = []
            for _ in least..<most {
                splits.append(code.count)
                code.append(.split(0, 0))
                guard emit(node, into: &code) else { return false }
            }
            for split in splits { code[split] = .split(split + 1, code.count) }
        }
        return true
    }
}

/// A set of octets.
struct OctetSet: Sendable, Hashable {
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    static func == (a: OctetSet, b: OctetSet) -> Bool { a.words == b.words }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }

    init(_ octets: some Sequence<UInt8>) { for octet in octets { insert(octet) } }

    static let digit = OctetSet(UInt8(ascii: "0")...UInt8(ascii: "9"))
    static let word = OctetSet((UInt8.min...UInt8.max).filter { ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == 0x5F })
    static let space = OctetSet([0x20, 0x09, 0x0A, 0x0B, 0x0C, 0x0D])
    static let all = OctetSet(UInt8.min...UInt8.max)

    func contains(_ octet: UInt8) -> Bool {
        let bit = UInt64(1) << UInt64(octet & 63)
        switch octet >> 6 {
        case 0: return words.0 & bit != 0
        case 1: return words.1 & bit != 0
        case 2: return words.2 & bit != 0
        default: return words.3 & bit != 0
        }
    }

    mutating func insert(_ octet: UInt8) {
        let bit = UInt64(1) << UInt64(octet & 63)
        switch octet >> 6 {
        case 0: words.0 |= bit
        case 1: words.1 |= bit
        case 2: words.2 |= bit
        default: words.3 |= bit
        }
    }

    mutating func formUnion(_ other: OctetSet) {
        words = (words.0 | other.words.0, words.1 | other.words.1, words.2 | other.words.2, words.3 | other.words.3)
    }

    var inverted: OctetSet {
        var copy = self
        copy.words = (~words.0, ~words.1, ~words.2, ~words.3)
        return copy
    }

    /// With each letter also in its other case.
    var withBothCases: OctetSet {
        OctetSet((UInt8.min...UInt8.max).filter { contains($0) || (ASCII.isAlpha($0) && contains($0 ^ 0x20)) })
    }
}

/// Which states a machine is in, in no particular order.
private struct StateSet {
    private(set) var members: [Int] = []
    private var marks: [Bool]

    init(count: Int) { marks = [Bool](repeating: false, count: count) }

    mutating func insert(_ state: Int) -> Bool {
        guard !marks[state] else { return false }
        marks[state] = true
        members.append(state)
        return true
    }

    mutating func removeAll() {
        for member in members { marks[member] = false }
        members.removeAll(keepingCapacity: true)
    }
}
