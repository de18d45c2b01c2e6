// SPDX-License-Identifier: Apache-2.0

/// The kind of a normalised host.
package enum HostKind: Sendable {
    case name, ipv4, ipv6
}

/// The grammar of hosts and ports (RFC 3986 §3.2.2–3.2.3), as narrow as names and addresses really are. Any text that a
/// resolver could read as an address is an address here, in its only spelling, so that a rule about addresses always
/// checks the address that is connected to.
package enum URIHost {
    /// Appends the normal form of `bytes` (a host without port) to `output`: names in lower case without a final
    /// dot, IPv4 addresses in dotted decimal, IPv6 addresses in brackets as RFC 5952 §4 writes them.
    ///
    /// Octal, hexadecimal and shortened IPv4 spellings, zone identifiers, percent-encoding and bytes outside
    /// letters, digits, `-`, `.` and `_` are refused.
    package static func append(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) throws(URIError) {
        guard let first = bytes.first else { throw .missingHost }
        if first == UInt8(ascii: "[") {
            guard bytes.count > 2, bytes.last == UInt8(ascii: "]"),
                let address = IPv6Text.parse(bytes.bytes.extracting(1..<bytes.count - 1))
            else { throw .invalidHost }
            output.append(UInt8(ascii: "["))
            IPv6Text.append(address, to: &output)
            output.append(UInt8(ascii: "]"))
            return
        }
        try appendName(bytes, to: &output)
    }

    /// The kind of a host in normal form.
    package static func kind(ofNormalised host: UnsafeRawBufferPointer) -> HostKind {
        guard let first = host.first else { return .name }
        if first == UInt8(ascii: "[") { return .ipv6 }
        // Names that end in a digits-only label were refused unless they are addresses.
        let last = host[(host.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0)...]
        return last.allSatisfy(ASCII.isDigit) ? .ipv4 : .name
    }

    /// Reads a port: nil when `digits` is empty (the scheme's default), else 1…65535.
    package static func port(_ digits: RawSpan) throws(URIError) -> UInt16? {
        guard !digits.isEmpty else { return nil }
        guard digits.byteCount <= 5 else { throw .invalidPort }
        var value: UInt32 = 0
        for position in 0..<digits.byteCount {
            let digit = digits[position]
            guard ASCII.isDigit(digit) else { throw .invalidPort }
            value = value * 10 + UInt32(digit - 0x30)
        }
        guard value >= 1, value <= 65535 else { throw .invalidPort }
        return UInt16(value)
    }

    /// Splits an authority into host and port digits (nil when there is no colon).
    package static func split(
        _ authority: UnsafeRawBufferPointer
    ) throws(URIError) -> (host: UnsafeRawBufferPointer, port: UnsafeRawBufferPointer?) {
        if authority.contains(UInt8(ascii: "@")) { throw .userInformation }
        var host = authority.prefix { $0 != UInt8(ascii: ":") }
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .invalidHost }
            host = authority.prefix(through: close)
        }
        let rest = authority.dropFirst(host.count)
        guard let colon = rest.first else { return (UnsafeRawBufferPointer(rebasing: host), nil) }
        guard colon == UInt8(ascii: ":") else { throw .invalidHost }
        return (UnsafeRawBufferPointer(rebasing: host), UnsafeRawBufferPointer(rebasing: rest.dropFirst()))
    }

    private static func appendName(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) throws(URIError) {
        let start = output.count
        var labelStart = start
        for byte in bytes {
            if byte == UInt8(ascii: ".") {
                let length = output.count - labelStart
                guard length >= 1, length <= 63 else { throw .invalidHost }
                output.append(byte)
                labelStart = output.count
            } else {
                guard
                    ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                else { throw .invalidHost }
                output.append(ASCII.lowercased(byte))
            }
        }
        if labelStart == output.count {
            output.removeLast()
            labelStart = output[start...].lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? start
        }
        guard output.count - labelStart <= 63, output.count - start <= 253, output.count > labelStart
        else { throw .invalidHost }
        if looksNumeric(output[labelStart...]), !isDottedDecimal(output[start...]) { throw .invalidHost }
    }

    /// True if resolvers may read a last label as a number: digits only, or `0x` and hexadecimal digits.
    private static func looksNumeric(_ label: ArraySlice<UInt8>) -> Bool {
        if label.allSatisfy(ASCII.isDigit) { return true }
        return label.count >= 2 && label.starts(with: [0x30, 0x78])
            && label.dropFirst(2).allSatisfy { ASCII.hexValue($0) != nil }
    }

    private static func isDottedDecimal(_ text: ArraySlice<UInt8>) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard (1...3).contains(part.count), part.allSatisfy(ASCII.isDigit) else { return false }
                guard part.count == 1 || part.first != 0x30 else { return false }
                return part.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 255
            }
    }
}

/// IPv6 addresses as text (RFC 4291 §2.2, RFC 5952).
package enum IPv6Text {
    /// The eight groups of an address, or nil when `text` is not one. Zone identifiers are not accepted.
    static func parse(_ text: RawSpan) -> [UInt16]? {
        var groups: [UInt16] = []
        var gap: Int?
        var index = 0
        if text.byteCount >= 2, text[0] == 0x3A {
            guard text[1] == 0x3A else { return nil }
            gap = 0
            index = 2
        }
        while index < text.byteCount {
            guard groups.count < 8 else { return nil }
            var end = index
            var isDotted = false
            while end < text.byteCount, text[end] != 0x3A {
                if text[end] == 0x2E { isDotted = true }
                end += 1
            }
            if isDotted {
                guard end == text.byteCount, groups.count <= 6, let pair = dottedPair(text, from: index) else {
                    return nil
                }
                groups += pair
                index = end
                break
            }
            guard (1...4).contains(end - index) else { return nil }
            var value: UInt16 = 0
            for position in index..<end {
                guard let digit = ASCII.hexValue(text[position]) else { return nil }
                value = value << 4 | UInt16(digit)
            }
            groups.append(value)
            index = end
            guard index < text.byteCount else { break }
            index += 1
            if index < text.byteCount, text[index] == 0x3A {
                guard gap == nil else { return nil }
                gap = groups.count
                index += 1
            } else if index == text.byteCount {
                return nil
            }
        }
        guard let gap else { return groups.count == 8 ? groups : nil }
        guard groups.count < 8 else { return nil }
        groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        return groups
    }

    /// Writes an address in the form of RFC 5952 §4: lower case, no leading zeros, the first longest run of two or
    /// more zero groups shortened.
    package static func append(_ groups: [UInt16], to output: inout [UInt8]) {
        var best = 0..<0
        var index = 0
        while index < 8 {
            var end = index
            while end < 8, groups[end] == 0 { end += 1 }
            if end - index >= 2, end - index > best.count { best = index..<end }
            index = max(end, index + 1)
        }
        index = 0
        while index < 8 {
            if !best.isEmpty, index == best.lowerBound {
                output += [0x3A, 0x3A]
                index = best.upperBound
                continue
            }
            if index > 0, index != best.upperBound || best.isEmpty { output.append(0x3A) }
            output += Array(String(groups[index], radix: 16).utf8)
            index += 1
        }
    }

    /// The two groups of an IPv4 address in dotted decimal, which is the rest of the text.
    private static func dottedPair(_ text: RawSpan, from start: Int) -> [UInt16]? {
        var octets: [UInt16] = []
        var position = start
        while octets.count < 4 {
            let first = position
            var value: UInt16 = 0
            while position < text.byteCount, ASCII.isDigit(text[position]) {
                guard position - first < 3 else { return nil }
                value = value * 10 + UInt16(text[position] - 0x30)
                position += 1
            }
            guard position > first, position - first == 1 || text[first] != 0x30, value <= 255 else { return nil }
            octets.append(value)
            guard position < text.byteCount else { break }
            guard octets.count < 4, text[position] == 0x2E else { return nil }
            position += 1
        }
        return octets.count == 4 ? [octets[0] << 8 | octets[1], octets[2] << 8 | octets[3]] : nil
    }
}
