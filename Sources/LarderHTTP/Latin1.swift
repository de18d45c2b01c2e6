// SPDX-License-Identifier: Apache-2.0

/// Field values are bytes (RFC 9110 §5.5). As text, each byte is one character (ISO-8859-1), which converts back to
/// that byte.
extension String {
    package init(latin1 octets: some Collection<UInt8>) {
        if octets.allSatisfy({ $0 < 0x80 }) {
            self.init(decoding: octets, as: UTF8.self)
        } else {
            self.init(String.UnicodeScalarView(octets.lazy.map { Unicode.Scalar($0) }))
        }
    }

    /// A field's value as web browsers read it: in UTF-8 where it is that.
    package var asFieldText: String {
        guard utf8.contains(where: { $0 > 0x7F }) else { return self }
        return latin1.flatMap { String(validating: $0, as: UTF8.self) } ?? self
    }

    /// The text in ISO-8859-1; nil if a character is not in that set.
    package var latin1: [UInt8]? {
        var octets: [UInt8] = []
        octets.reserveCapacity(unicodeScalars.count)
        for scalar in unicodeScalars {
            guard let octet = UInt8(exactly: scalar.value) else { return nil }
            octets.append(octet)
        }
        return octets
    }
}
