// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// A run of bytes of a representation: positions of the first and the last one (RFC 9110 §14.1.2).
package struct ByteRange: Sendable, Hashable {
    package var first: Int64
    package var last: Int64

    /// The run from `first` to `last`, both included; `first` is not above `last`.
    package init(first: Int64, last: Int64) {
        // Holds: ranges of messages and of stored content are compared before they become one of these.
        precondition(first >= 0 && first <= last, "a byte range is not empty")
        self.first = first
        self.last = last
    }

    package var count: Int64 { last - first + 1 }

    package func contains(_ other: ByteRange) -> Bool { first <= other.first && other.last <= last }
}

/// The value of `Content-Range` in bytes (RFC 9110 §14.4).
package enum ContentRange: Sendable, Hashable {
    case range(ByteRange, completeLength: Int64?)
    /// `*/N`, as in a 416 response.
    case unsatisfied(completeLength: Int64)

    /// Reads the one `Content-Range` of a header section; nil when it is absent, repeated, in another unit, malformed
    /// or contradictory.
    package init?(_ fields: Fields) {
        guard fields.count(of: .contentRange) == 1 else { return nil }
        let parsed = fields.withFirst(.contentRange) { ContentRange(octets: $0) }
        guard let parsed, let parsed else { return nil }
        self = parsed
    }

    init?(octets: UnsafeRawBufferPointer) {
        let octets = CheckedOctets(octets)
        guard octets.count > 6, octets.part(0..<5).unchecked.isFolded("bytes"), octets[5] == 0x20,
            let slash = octets.firstIndex(of: 0x2F), slash >= 6
        else { return nil }
        let span = octets.part(6..<slash)
        let total = octets.part(slash + 1..<octets.count)
        let isUnknown = total.elementsEqual("*".utf8)
        let completeLength = isUnknown ? nil : Int64(decimal: total)
        guard isUnknown || completeLength != nil else { return nil }
        if span.elementsEqual("*".utf8) {
            guard let completeLength else { return nil }
            self = .unsatisfied(completeLength: completeLength)
            return
        }
        guard let dash = span.firstIndex(of: 0x2D),
            let first = Int64(decimal: span.part(0..<dash)),
            let last = Int64(decimal: span.part(dash + 1..<span.count)),
            first <= last, last < Int64.max, last < completeLength ?? .max
        else { return nil }
        self = .range(ByteRange(first: first, last: last), completeLength: completeLength)
    }
}

extension ContentRange: CustomStringConvertible {
    /// The field value.
    package var description: String {
        switch self {
        case .range(let range, let length): "bytes \(range.first)-\(range.last)/\(length.map(String.init) ?? "*")"
        case .unsatisfied(let length): "bytes */\(length)"
        }
    }
}

extension Int64 {
    /// Reads 1*DIGIT; a number that does not fit becomes the largest one. Nil when there is anything but digits.
    package init?(decimal octets: some Collection<UInt8>) {
        guard !octets.isEmpty else { return nil }
        var value: Int64 = 0
        for octet in octets {
            guard ASCII.isDigit(octet) else { return nil }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(Int64(octet - 0x30))
            value = overflows || carries ? .max : sum
        }
        self = value
    }
}
