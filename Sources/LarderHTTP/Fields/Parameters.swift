// SPDX-License-Identifier: Apache-2.0

/// `; name=value` pairs behind a value (RFC 9110 §5.6.6). Names are kept in lower case, values without quotes.
package struct Parameters: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        /// ISO-8859-1: one character for each byte, as the values of `Fields` read.
        package let value: String
    }

    package private(set) var all: [Parameter] = []

    /// Reads `*( OWS ";" OWS [ parameter ] )`, nil when `bytes` are anything else.
    ///
    /// - Parameter isLenient: takes a malformed value as it is, up to the semicolon, and leaves out what has no name.
    init?(_ bytes: Span<UInt8>, isLenient: Bool = false) {
        var position = 0
        while true {
            position = Parameters.skipBlanks(bytes, position)
            guard position < bytes.count else { return }
            guard bytes[position] == 0x3B else { return nil }
            position = Parameters.skipBlanks(bytes, position + 1)
            if position == bytes.count || bytes[position] == 0x3B { continue }
            if let (parameter, end) = Parameters.parameter(bytes, at: position) {
                all.append(parameter)
                position = end
            } else if isLenient {
                let start = position
                while position < bytes.count, bytes[position] != 0x3B {
                    position = QuotedString.end(bytes, from: position) ?? position + 1
                }
                if let parameter = Parameters.malformed(bytes, start..<position) { all.append(parameter) }
            } else {
                return nil
            }
        }
    }

    /// The parameter that begins at `start`, and the position behind it, where a semicolon or nothing follows.
    private static func parameter(_ bytes: Span<UInt8>, at start: Int) -> (Parameter, end: Int)? {
        let nameEnd = tokenEnd(bytes, start)
        guard nameEnd > start, nameEnd < bytes.count, bytes[nameEnd] == 0x3D else { return nil }
        let valueStart = nameEnd + 1
        let valueEnd = QuotedString.end(bytes, from: valueStart) ?? tokenEnd(bytes, valueStart)
        let end = skipBlanks(bytes, valueEnd)
        guard valueEnd > valueStart, end == bytes.count || bytes[end] == 0x3B else { return nil }
        let quoted = QuotedString.unquoted(bytes.extracting(valueStart..<valueEnd))
        let value = quoted ?? [UInt8](bytes, valueStart..<valueEnd) { $0 }
        return (Parameter(name: name(bytes, start..<nameEnd), value: String(latin1: value)), end)
    }

    /// A parameter whose value is neither a token nor quoted; nil if there is no name, or no value.
    private static func malformed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Parameter? {
        let nameEnd = tokenEnd(bytes, range.lowerBound)
        var end = range.upperBound
        while end > nameEnd, ASCII.isBlank(bytes[end - 1]) { end -= 1 }
        guard nameEnd > range.lowerBound, end > nameEnd + 1, bytes[nameEnd] == 0x3D else { return nil }
        let value = [UInt8](bytes, nameEnd + 1..<end) { $0 }
        return Parameter(name: name(bytes, range.lowerBound..<nameEnd), value: String(latin1: value))
    }

    private static func name(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
        String(decoding: [UInt8](bytes, range, ASCII.lowercased), as: UTF8.self)
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
    /// The bytes in a range, each changed by `change`.
    fileprivate init(_ octets: Span<UInt8>, _ range: Range<Int>, _ change: (UInt8) -> UInt8) {
        self.init()
        reserveCapacity(range.count)
        for index in range { append(change(octets[index])) }
    }
}
