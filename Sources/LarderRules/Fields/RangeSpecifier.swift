// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The value of `Range` in bytes (RFC 9110 §14.1.2, §14.2), as far as the grammar goes; the bytes it selects depend
/// on the representation.
package struct RangeSpecifier: Sendable, Hashable {
    package enum Spec: Sendable, Hashable {
        /// From one position to another, or to the end.
        case from(Int64, through: Int64?)
        /// The last bytes, by their number.
        case suffix(Int64)
    }

    package let specs: [Spec]

    /// With more ranges than this the field is ignored.
    package static let limit = 100

    /// Reads the one `Range` of a request. Nil means that it is absent or to be ignored: repeated, in another unit,
    /// malformed, or with a range that ends before it begins. Numbers beyond 64 bits saturate.
    package init?(_ request: Fields) {
        guard request.count(of: .range) == 1, let specs = request.withFirst(.range, RangeSpecifier.parse), let specs
        else {
            return nil
        }
        self.specs = specs
    }

    private static func parse(_ octets: UnsafeRawBufferPointer) -> [Spec]? {
        guard octets.count > 6, UnsafeRawBufferPointer(rebasing: octets[..<6]).isFolded("bytes=") else { return nil }
        var specs: [Spec] = []
        for member in octets[6...].split(separator: 0x2C) {
            let member = ASCII.trimmed(UnsafeRawBufferPointer(rebasing: member))
            if member.isEmpty { continue }
            guard specs.count < limit, let spec = spec(member) else { return nil }
            specs.append(spec)
        }
        return specs.isEmpty ? nil : specs
    }

    private static func spec(_ octets: UnsafeRawBufferPointer) -> Spec? {
        guard let dash = octets.firstIndex(of: 0x2D) else { return nil }
        let after = UnsafeRawBufferPointer(rebasing: octets[(dash + 1)...])
        if dash == 0 { return Int64(decimal: after).map(Spec.suffix) }
        guard let first = Int64(decimal: UnsafeRawBufferPointer(rebasing: octets[..<dash])) else { return nil }
        if after.isEmpty { return .from(first, through: nil) }
        guard let last = Int64(decimal: after), first <= last else { return nil }
        return .from(first, through: last)
    }
}

extension RangeSpecifier.Spec {
    /// The bytes that it selects of a representation of `length` bytes; nil when it is not satisfiable.
    package func resolved(_ length: Int64) -> ByteRange? {
        switch self {
        case .from(let first, let last):
            first < length ? ByteRange(first: first, last: min(last ?? length - 1, length - 1)) : nil
        case .suffix(let count):
            count > 0 && length > 0 ? ByteRange(first: max(0, length - count), last: length - 1) : nil
        }
    }

    /// The bytes that it selects if the length is not known: only a range with both ends names them.
    fileprivate var absolute: ByteRange? {
        if case .from(let first, let last?) = self, last < .max { ByteRange(first: first, last: last) } else { nil }
    }

    /// The bytes that it selects of a partly stored representation.
    package func resolved(completeLength: Int64?) -> ByteRange? {
        if let completeLength { resolved(completeLength) } else { absolute }
    }
}
