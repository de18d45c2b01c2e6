// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Walks the members of one `Cache-Control` or `Pragma` line (RFC 9111 §5.2), without copying.
///
/// It is as lenient as safety needs: members that do not follow the grammar are reported as `malformed` rather than
/// dropped, so that a `private` followed by a semicolon still keeps a response private.
enum DirectiveScanner {
    enum Argument {
        case none
        case token(UnsafeRawBufferPointer)
        /// The bytes between the quotes, escapes left in.
        case quoted(UnsafeRawBufferPointer)
        /// Blanks around the equals sign, which the grammar does not allow.
        case spaced
        /// Anything else that the grammar does not allow, including a semicolon before or after the member.
        case malformed
    }

    /// Calls `body` with the name of each member, in its original case, and its argument.
    @inline(__always)
    static func scan(
        _ line: UnsafeRawBufferPointer, _ body: (_ name: UnsafeRawBufferPointer, _ argument: Argument) -> Void
    ) {
        var cursor = Cursor(line)
        while cursor.skipToMember() {
            let name = cursor.token()
            guard !name.isEmpty else {
                cursor.skipMember()
                continue
            }
            let followsSemicolon = cursor.previousSeparator == Cursor.semicolon
            var argument = cursor.argument()
            if !cursor.endsMember() {
                // `max-age =1` is distinguished from other errors, as it is the one slip worth tolerating.
                argument = cursor.isAtEqualsSign && !followsSemicolon ? .spaced : .malformed
                cursor.skipMember()
            } else if followsSemicolon || cursor.isAtSemicolon {
                argument = .malformed
            }
            body(name, argument)
        }
    }

    struct Cursor {
        static let comma: UInt8 = 0x2C
        static let semicolon: UInt8 = 0x3B
        private static let equals: UInt8 = 0x3D
        private static let quote: UInt8 = 0x22

        private let line: CheckedOctets
        private var index = 0
        /// True if an unterminated string was found: then no other is searched for, as each search might run to the end
        /// of the line in vain.
        private var hasOpenString = false
        private(set) var previousSeparator: UInt8 = Cursor.comma

        init(_ line: UnsafeRawBufferPointer) { self.line = CheckedOctets(line) }

        var isAtEqualsSign: Bool { index < line.count && line[index] == Cursor.equals }
        var isAtSemicolon: Bool { index < line.count && line[index] == Cursor.semicolon }

        /// Moves past blanks and separators; false at the end of the line.
        mutating func skipToMember() -> Bool {
            while index < line.count {
                let octet = line[index]
                if octet == Cursor.comma || octet == Cursor.semicolon {
                    previousSeparator = octet
                } else if !ASCII.isBlank(octet) {
                    return true
                }
                index &+= 1
            }
            return false
        }

        mutating func token() -> UnsafeRawBufferPointer {
            let start = index
            while index < line.count, Token.isTokenCharacter(line[index]) { index &+= 1 }
            return line.part(start..<index).unchecked
        }

        mutating func argument() -> Argument {
            guard isAtEqualsSign else { return .none }
            index &+= 1
            guard index < line.count else { return .malformed }
            if line[index] == Cursor.quote { return quotedString() }
            if ASCII.isBlank(line[index]) {
                skipMember()
                return .spaced
            }
            let value = token()
            return value.isEmpty ? .malformed : .token(value)
        }

        /// Skips blanks; whether a separator or the end of the line follows.
        mutating func endsMember() -> Bool {
            while index < line.count, ASCII.isBlank(line[index]) { index &+= 1 }
            return index == line.count || line[index] == Cursor.comma || line[index] == Cursor.semicolon
        }

        /// Moves to the next separator that is outside a quoted string.
        mutating func skipMember() {
            while index < line.count, line[index] != Cursor.comma, line[index] != Cursor.semicolon {
                if line[index] == Cursor.quote, case .quoted = quotedString() { continue }
                index &+= 1
            }
        }

        /// A string without closing quote does not swallow the rest of the line: that may contain restricting
        /// directives, and is read.
        private mutating func quotedString() -> Argument {
            guard !hasOpenString else { return .malformed }
            var end = index &+ 1
            while end < line.count, line[end] != Cursor.quote { end &+= line[end] == 0x5C ? 2 : 1 }
            guard end < line.count else {
                hasOpenString = true
                return .malformed
            }
            let content = line.part(index &+ 1..<end).unchecked
            index = end &+ 1
            return .quoted(content)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are `text` (in lower case) when letters are compared without case.
    @inline(__always)
    func isFolded(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let other = text.utf8Start
        for index in 0..<count where ASCII.lowercased(self[index]) != other[index] { return false }
        return true
    }
}
