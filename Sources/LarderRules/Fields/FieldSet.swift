// SPDX-License-Identifier: Apache-2.0

public import LarderHTTP

/// A set of registered field names, as one bit each: made in one pass over a header section, asked in one step.
public struct FieldSet: Sendable, Hashable {
    @usableFromInline var low: UInt64 = 0
    @usableFromInline var high: UInt64 = 0

    @inlinable public init() {}

    public init(_ names: [FieldName]) {
        for name in names { insert(name.registeredCode) }
    }

    /// The registered names that occur in `fields`.
    @inlinable
    public init(of fields: Fields) {
        self.init()
        fields.forEachLine { name, _, _ in
            if let name { insert(name.registeredCode) }
        }
    }

    @inlinable
    public mutating func insert(_ code: UInt8) {
        if code < 64 { low |= 1 &<< UInt64(code) } else { high |= 1 &<< UInt64(code &- 64) }
    }

    /// Whether the registered name with that code is a member; never true for code 0.
    @inlinable
    public func contains(_ code: UInt8) -> Bool {
        guard code != 0 else { return false }
        return (code < 64 ? low &>> UInt64(code) : high &>> UInt64(code &- 64)) & 1 != 0
    }

    @inlinable public func contains(_ name: FieldName) -> Bool { contains(name.registeredCode) }

    @inlinable
    public func isDisjoint(with other: FieldSet) -> Bool { low & other.low == 0 && high & other.high == 0 }
}
