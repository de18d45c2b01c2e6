// SPDX-License-Identifier: Apache-2.0

/// `uri-host [ ":" port ]` as it stands in Host fields and authority-form targets (RFC 9110 §7.2, RFC 3986 §3.2).
///
/// No userinfo. An IPv6 address stands in brackets; other literals are refused, for nobody can connect to them.
package enum HostGrammar {
    /// Where the host ends (brackets included) and the port: nil when absent or empty. Nil as a whole when `bytes`
    /// do not match. The host may be empty; whether it may be is the caller's question.
    package static func split(_ bytes: UnsafeRawBufferPointer) -> (hostEnd: Int, port: UInt16?)? {
        let hostEnd: Int
        if bytes.first == 0x5B {
            guard let close = bytes.firstIndex(of: 0x5D),
                isIPv6(UnsafeRawBufferPointer(rebasing: bytes[1..<close]))
            else { return nil }
            hostEnd = close + 1
        } else {
            guard let end = registeredNameEnd(bytes) else { return nil }
            hostEnd = end
        }
        guard hostEnd < bytes.count else { return (hostEnd, nil) }
        guard bytes[hostEnd] == 0x3A else { return nil }
        guard hostEnd + 1 < bytes.count else { return (hostEnd, nil) }
        var port: UInt32 = 0
        for octet in bytes[(hostEnd + 1)...] {
            guard ASCII.isDigit(octet) else { return nil }
            port = port * 10 + UInt32(octet - 0x30)
            guard port <= 65535 else { return nil }
        }
        return (hostEnd, UInt16(port))
    }

    /// Where the reg-name (which covers IPv4 addresses) at the start of `bytes` ends; nil for a bad escape.
    private static func registeredNameEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < bytes.count {
            let octet = bytes[position]
            if octet == 0x25 {
                guard position + 2 < bytes.count, ASCII.hexValue(bytes[position + 1]) != nil,
                    ASCII.hexValue(bytes[position + 2]) != nil
                else { return nil }
                position += 3
            } else if isRegisteredNameCharacter(octet) {
                position += 1
            } else {
                break
            }
        }
        return position
    }

    /// unreserved and sub-delims of RFC 3986 §2.
    private static func isRegisteredNameCharacter(_ octet: UInt8) -> Bool {
        if ASCII.isAlpha(octet) || ASCII.isDigit(octet) { return true }
        switch octet {
        case 0x2D, 0x2E, 0x5F, 0x7E: return true  // - . _ ~
        case 0x21, 0x24, 0x26...0x2C, 0x3B, 0x3D: return true  // ! $ & ' ( ) * + , ; =
        default: return false
        }
    }

    /// Whether `bytes` are an IPv6 address: eight groups of up to four hex digits, one run of them left out as `::`,
    /// the last two possibly written as an IPv4 address.
    package static func isIPv6(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var groups = 0
        var hasGap = false
        var position = 0
        while position < bytes.count {
            if bytes[position] == 0x3A {
                // A colon here is either a gap or, at the very end, one too many.
                guard position + 1 < bytes.count, bytes[position + 1] == 0x3A, !hasGap else { return false }
                hasGap = true
                position += 2
                continue
            }
            let start = position
            while position < bytes.count, ASCII.hexValue(bytes[position]) != nil { position += 1 }
            if position < bytes.count, bytes[position] == 0x2E {
                guard isIPv4(UnsafeRawBufferPointer(rebasing: bytes[start...])) else { return false }
                groups += 2
                return hasGap ? groups < 8 : groups == 8
            }
            guard 1...4 ~= position - start else { return false }
            groups += 1
            guard position < bytes.count else { break }
            guard bytes[position] == 0x3A, position + 1 < bytes.count else { return false }
            // The colon that ends a group is also the first of a gap that follows it.
            if bytes[position + 1] != 0x3A { position += 1 }
        }
        return hasGap ? groups < 8 : groups == 8
    }

    /// Whether `bytes` are four decimal numbers up to 255 with dots between, without leading zeros.
    package static func isIPv4(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var numbers = 0
        var position = 0
        while true {
            let start = position
            var value = 0
            while position < bytes.count, ASCII.isDigit(bytes[position]), position - start < 3 {
                value = value * 10 + Int(bytes[position] - 0x30)
                position += 1
            }
            guard position > start, value <= 255, position - start == 1 || bytes[start] != 0x30 else { return false }
            numbers += 1
            if numbers == 4 { return position == bytes.count }
            guard position < bytes.count, bytes[position] == 0x2E else { return false }
            position += 1
        }
    }
}
