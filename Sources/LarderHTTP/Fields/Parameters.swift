// SPDX-License-Identifier: Apache-2.0

/// `; name=value` pairs behind a value (RFC 9110 §5.6.6). Names are kept in lower case, values without quotes.
package struct Parameters: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        /// ISO-8859-1: one character for each octet, as the values of `Fields` read.
        package let value: String
    }

    package private(set) var all: [Parameter] = []

    package init() {}

    /// Reads `*( OWS ";" OWS [ parameter ] )`, nil when `bytes` are anything else.
    init?(_ bytes: Span<UInt8>) {
        var position = 0
        while true {
            position = Parameters.skipBlanks(bytes, position)
            guard position < bytes.count else { return }
            guard bytes[position] == 0x3B else { return nil }
            position = Parameters.skipBlanks(bytes, position + 1)
            if position == bytes.count || bytes[position] == 0x3B { continue }
            let nameEnd = Parameters.tokenEnd(bytes, position)
            guard nameEnd > position, nameEnd < bytes.count, bytes[nameEnd] == 0x3D else { return nil }
            let valueStart = nameEnd + 1
            let valueEnd = QuotedString.end(bytes, from: valueStart) ?? Parameters.tokenEnd(bytes, valueStart)
            guard valueEnd > valueStart else { return nil }
            let quoted = QuotedString.unquoted(bytes.extracting(valueStart..<valueEnd))
            all.append(
                Parameter(
                    name: String(decoding: [UInt8](bytes, position..<nameEnd, ASCII.lowercased), as: UTF8.self),
                    value: String(latin1: quoted ?? [UInt8](bytes, valueStart..<valueEnd) { $0 })))
            position = valueEnd
        }
    }

    /// The value of the first parameter of that name, which is in lower case.
    package subscript(name: String) -> String? { all.first { $0.name == name }?.value }

    private static func skipBlanks(_ bytes: Span<UInt8>, _ start: Int) -> Int {
        var position = start
        while position < bytes.count, ASCII.isBlank(bytes[position]) { position += 1 }
        return position
    }

    private static func tokenEnd(_ bytes: Span<UInt8>, _ start: Int) -> Int {
        var position = start
        while position < bytes.count, Token.isTokenCharacter(bytes[position]) { position += 1 }
        return position
    }
}

extension Parameters: CustomStringConvertible {
    package var description: String {
        all.map { parameter in
            let octets = Array(parameter.value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
            if octets.withUnsafeBytes(Token.isToken) { return ";\(parameter.name)=\(parameter.value)" }
            var quoted: [UInt8] = []
            _ = QuotedString.append(octets, to: &quoted)
            return ";\(parameter.name)=\(String(latin1: quoted))"
        }.joined()
    }
}

extension [UInt8] {
    /// The octets in a range, each changed by `change`.
    fileprivate init(_ octets: Span<UInt8>, _ range: Range<Int>, _ change: (UInt8) -> UInt8) {
        self.init()
        reserveCapacity(range.count)
        for index in range { append(change(octets[index])) }
    }
}

extension String {
    /// One character for each octet, as field values read (ISO-8859-1).
    init(latin1 octets: [UInt8]) {
        self.init(String.UnicodeScalarView(octets.lazy.map { Unicode.Scalar($0) }))
    }
}
