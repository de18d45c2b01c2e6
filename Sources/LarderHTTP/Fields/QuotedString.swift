// SPDX-License-Identifier: Apache-2.0

/// Text between double quotes, where a backslash escapes the next byte (RFC 9110 §5.6.4).
package enum QuotedString {
    /// The position behind the closing quote of the string that begins at `start`, or nil when it has none or contains
    /// a byte that is not allowed.
    static func end(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, bytes[start] == 0x22 else { return nil }
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case 0x22: return position + 1
            case 0x5C:
                position += 1
                guard position < bytes.count, isText(bytes[position]) else { return nil }
            case let octet:
                guard isText(octet) else { return nil }
            }
            position += 1
        }
        return nil
    }

    /// The unescaped text when all of `bytes` are one quoted string, else nil.
    package static func unquoted(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        unquoted(bytes.assumingMemoryBound(to: UInt8.self).span)
    }

    /// The same for bytes that are checked to be there.
    static func unquoted(_ bytes: Span<UInt8>) -> [UInt8]? {
        guard end(bytes, from: 0) == bytes.count else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count - 2)
        var position = 1
        while position < bytes.count - 1 {
            if bytes[position] == 0x5C { position += 1 }
            text.append(bytes[position])
            position += 1
        }
        return text
    }

    /// Appends `text` in quotes. Returns nil, and appends no byte, if `text` contains a byte that cannot be quoted.
    package static func append(_ text: some Collection<UInt8>, to output: inout [UInt8]) -> Void? {
        guard text.allSatisfy(isText) else { return nil }
        output.append(0x22)
        for octet in text {
            if octet == 0x22 || octet == 0x5C { output.append(0x5C) }
            output.append(octet)
        }
        output.append(0x22)
        return ()
    }

    /// HTAB, space, visible ASCII and obs-text: the bytes allowed behind a backslash, and unescaped except for the
    /// quote and the backslash themselves.
    package static func isText(_ octet: UInt8) -> Bool { octet >= 0x20 && octet != 0x7F || octet == 0x09 }
}
