// SPDX-License-Identifier: Apache-2.0

/// Comma-separated lists (RFC 9110 §5.6.1), read as recipients have to: empty elements are let pass, and a comma in
/// a quoted string separates nothing.
package enum ListGrammar {
    /// Calls `body` with each element without the blanks around it. False when a quoted string does not end; what
    /// begins there is not reported.
    @discardableResult
    package static func forEachElement(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        let octets = bytes.assumingMemoryBound(to: UInt8.self).span
        var position = 0
        while position < octets.count {
            var end = position
            while end < octets.count, octets[end] != 0x2C {
                guard octets[end] == 0x22 else {
                    end &+= 1
                    continue
                }
                guard let close = QuotedString.end(octets, from: end) else { return false }
                end = close
            }
            octets.extracting(position..<end).withUnsafeBytes {
                let element = ASCII.trimmed($0)
                if !element.isEmpty { body(element) }
            }
            position = end &+ 1
        }
        return true
    }
}

extension Fields {
    /// Calls `body` with each element of the lists in all lines of that name, in order. False when one of the
    /// lines is malformed; the elements before that place have been reported.
    @discardableResult
    package func forEachElement(of name: FieldName, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var isWellFormed = true
        forEach(name) { value in
            if isWellFormed { isWellFormed = ListGrammar.forEachElement(value, body) }
        }
        return isWellFormed
    }
}
