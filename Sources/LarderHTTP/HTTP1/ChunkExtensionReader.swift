// SPDX-License-Identifier: Apache-2.0

/// Checks the grammar of chunk extensions byte by byte (RFC 9112 §7.1.1). Their content is ignored.
struct ChunkExtensionReader: Sendable {
    private enum State: UInt8 {
        case start, beforeSemicolon, beforeName, name, afterName, beforeValue, token, quoted, escape, afterQuoted
    }
    private var state = State.start

    /// True if the line may end here.
    var mayEnd: Bool { state == .start || state == .name || state == .token || state == .afterQuoted }

    /// Reads the next byte of the line; false when it is not allowed there.
    mutating func read(_ octet: UInt8) -> Bool {
        guard let next = next(octet) else { return false }
        state = next
        return true
    }

    private func next(_ octet: UInt8) -> State? {
        switch state {
        case .start, .beforeSemicolon, .afterQuoted:
            if octet == 0x3B { return .beforeName }
            return ASCII.isBlank(octet) ? .beforeSemicolon : nil
        case .beforeName:
            if ASCII.isBlank(octet) { return .beforeName }
            return Token.isTokenCharacter(octet) ? .name : nil
        case .name:
            if octet == 0x3D { return .beforeValue }
            if octet == 0x3B { return .beforeName }
            if ASCII.isBlank(octet) { return .afterName }
            return Token.isTokenCharacter(octet) ? .name : nil
        case .afterName:
            if octet == 0x3D { return .beforeValue }
            if octet == 0x3B { return .beforeName }
            return ASCII.isBlank(octet) ? .afterName : nil
        case .beforeValue:
            if octet == 0x22 { return .quoted }
            if ASCII.isBlank(octet) { return .beforeValue }
            return Token.isTokenCharacter(octet) ? .token : nil
        case .token:
            if octet == 0x3B { return .beforeName }
            if ASCII.isBlank(octet) { return .beforeSemicolon }
            return Token.isTokenCharacter(octet) ? .token : nil
        case .quoted:
            if octet == 0x22 { return .afterQuoted }
            if octet == 0x5C { return .escape }
            return QuotedString.isText(octet) ? .quoted : nil
        case .escape:
            return QuotedString.isText(octet) ? .quoted : nil
        }
    }
}
