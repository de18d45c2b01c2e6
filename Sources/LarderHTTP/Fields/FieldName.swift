// SPDX-License-Identifier: Apache-2.0

/// The name of a field, compared without case (RFC 9110 §5.1).
///
/// The names Larder itself looks at are *registered*: one byte tells them apart, so that comparing and looking
/// up costs nothing on the hot path. Any other token is carried lower-cased in `other`.
public struct FieldName: Hashable, Sendable {
    /// The registered name's number, or 0 for any other name.
    @usableFromInline let code: UInt8
    /// The lower-cased name when `code` is 0, else empty.
    @usableFromInline let other: String

    @inlinable
    init(code: UInt8) {
        self.code = code
        other = ""
    }

    /// Makes a name of `text`, or nil when it is not a token (RFC 9110 §5.6.2).
    public init?(_ text: some StringProtocol) {
        var copy = Array(text.utf8)
        let name = copy.withUnsafeMutableBytes { FieldName(bytes: UnsafeRawBufferPointer($0)) }
        guard let name else { return nil }
        self = name
    }

    /// Makes a name of `bytes`, or nil when they are not a token.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard Token.isToken(bytes) else { return nil }
        self.init(token: bytes)
    }

    /// Makes a name of bytes already known to be a token.
    package init(token bytes: UnsafeRawBufferPointer) {
        code = FieldName.code(ofToken: bytes.bytes)
        other = code == 0 ? String(decoding: bytes.lazy.map(ASCII.lowercased), as: UTF8.self) : ""
    }

    /// The registered name with a number; nil when there is none.
    package init?(registeredCode code: UInt8) {
        guard code > 0, Int(code) < FieldName.registered.count else { return nil }
        self.init(code: code)
    }

    /// The registered name's number, or 0 for any other name; below 128.
    @inlinable package var registeredCode: UInt8 { code }

    /// The name in lower case.
    public var canonical: String { code == 0 ? other : FieldName.registered[Int(code)].lowercased() }

    /// The name as Larder writes it: the registered spelling, else lower case.
    public var spelling: String { code == 0 ? other : FieldName.registered[Int(code)] }
}

extension FieldName {
    @inlinable
    public static func == (a: FieldName, b: FieldName) -> Bool {
        a.code == b.code && (a.code != 0 || a.other == b.other)
    }

    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        if code == 0 { hasher.combine(other) }
    }
}

extension FieldName: CustomStringConvertible {
    public var description: String { spelling }
}

extension FieldName: ExpressibleByStringLiteral {
    /// For names written in source; a literal that is not a token is a programmer's mistake and traps.
    public init(stringLiteral value: StaticString) {
        // Unreachable: only literals of the sources come here; names of messages are nil where they are none.
        guard let name = FieldName("\(value)") else { preconditionFailure("'\(value)' is not a field name") }
        self = name
    }
}
