// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Response heads as octets, written once when a response is stored and copied out for each hit.
package enum PreparedHead {
    /// The status line, `fields` without `Age` and those of framing and connection, the length, and `Via`.
    package static func make(status: Status, fields: Fields, length: Int64?, via: String) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(512)
        appendStatusLine(status, to: &out)
        var fields = fields
        fields.remove(.age)
        append(fields, to: &out)
        if let length, !status.hasNoContent { appendField("Content-Length", number: length, to: &out) }
        appendVia(fields, via: via, to: &out)
        return out
    }

    package static func appendStatusLine(_ status: Status, to out: inout [UInt8]) {
        out.append(contentsOf: "HTTP/1.1 ".utf8)
        append(number: Int64(status.rawValue), to: &out)
        out.append(0x20)
        out.append(contentsOf: status.phrase.utf8)
        appendLineEnd(to: &out)
    }

    /// Writes `fields` but those of this hop: framing, connection, and `Via`, which is written with ours.
    package static func append(_ fields: Fields, to out: inout [UInt8]) {
        fields.forEachLine { name, spelling, value in
            switch name {
            case .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .trailer, .upgrade, .via:
                return
            default:
                out.append(contentsOf: spelling)
                out.append(0x3A)
                out.append(0x20)
                out.append(contentsOf: value)
                appendLineEnd(to: &out)
            }
        }
    }

    package static func appendVia(_ fields: Fields, via: String, to out: inout [UInt8]) {
        out.append(contentsOf: "Via: ".utf8)
        fields.forEach(.via) { value in
            out.append(contentsOf: value)
            out.append(contentsOf: ", ".utf8)
        }
        out.append(contentsOf: via.utf8)
        appendLineEnd(to: &out)
    }

    package static func appendField(_ name: StaticString, number: Int64, to out: inout [UInt8]) {
        name.withUTF8Buffer { out.append(contentsOf: $0) }
        out.append(0x3A)
        out.append(0x20)
        append(number: number, to: &out)
        appendLineEnd(to: &out)
    }

    /// Writes a line that is `prefix` and a number behind it.
    package static func appendField(_ prefix: StaticString, digits number: Int64, to out: inout [UInt8]) {
        prefix.withUTF8Buffer { out.append(contentsOf: $0) }
        append(number: number, to: &out)
        appendLineEnd(to: &out)
    }

    package static func appendField(_ name: StaticString, _ value: String, to out: inout [UInt8]) {
        name.withUTF8Buffer { out.append(contentsOf: $0) }
        out.append(0x3A)
        out.append(0x20)
        out.append(contentsOf: value.utf8)
        appendLineEnd(to: &out)
    }

    @inline(__always)
    package static func appendLineEnd(to out: inout [UInt8]) {
        out.append(0x0D)
        out.append(0x0A)
    }

    /// Writes a decimal number without making a String.
    package static func append(number: Int64, to out: inout [UInt8]) {
        if number < 0 { out.append(0x2D) }
        MessageWriter.appendDecimal(number.magnitude, to: &out)
    }
}
