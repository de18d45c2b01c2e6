// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderRules

/// Response heads as bytes, written once when a response is stored and copied out for each hit.
package enum PreparedHead {
    /// The status line, `fields` without `Age`, framing and connection fields, the length, and `Via`.
    package static func make(status: Status, fields: Fields, length: Int64?, via: String) -> [UInt8] {
        var out: [UInt8] = []
        // Names and values with four bytes between them for each, status line, length and `Via`.
        out.reserveCapacity(fields.octetCount + 4 * fields.count + 96)
        appendStatusLine(status, to: &out)
        var fields = fields
        fields.remove(.age)
        append(fields, to: &out)
        if let length, !status.hasNoContent {
            appendField("Content-Length", number: status.isSentEmpty ? 0 : length, to: &out)
        }
        appendVia(fields, via: via, to: &out)
        return out
    }

    package static func appendStatusLine(_ status: Status, to out: inout [UInt8]) {
        out.append("HTTP/1.1 ")
        out.append(decimal: Int64(status.rawValue))
        out.append(0x20)
        out.append(status.phrase)
        appendLineEnd(to: &out)
    }

    /// Writes `fields` without the fields of this hop: framing, connection, and `Via`, which is written with ours.
    package static func append(_ fields: Fields, to out: inout [UInt8]) {
        fields.forEachLine { name, spelling, value in
            if let name, ofThisHop.contains(name) { return }
            out.append(spelling)
            out.append(0x3A)
            out.append(0x20)
            out.append(value)
            appendLineEnd(to: &out)
        }
    }

    private static let ofThisHop = FieldSet([
        .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .trailer, .upgrade, .via,
    ])

    package static func appendVia(_ fields: Fields, via: String, to out: inout [UInt8]) {
        out.append("Via: ")
        fields.forEach(.via) { value in
            out.append(value)
            out.append(", ")
        }
        out.append(via)
        appendLineEnd(to: &out)
    }

    package static func appendField(_ name: StaticString, number: Int64, to out: inout [UInt8]) {
        appendField(name, to: &out) { $0.append(decimal: number) }
    }

    package static func appendField(_ name: StaticString, _ value: String, to out: inout [UInt8]) {
        appendField(name, to: &out) { $0.append(value) }
    }

    /// Writes a line whose value is what `write` appends.
    @inlinable
    package static func appendField(_ name: StaticString, to out: inout [UInt8], writing write: (inout [UInt8]) -> Void)
    {
        out.append(name)
        out.append(0x3A)
        out.append(0x20)
        write(&out)
        appendLineEnd(to: &out)
    }

    @inlinable
    package static func appendLineEnd(to out: inout [UInt8]) {
        out.append(0x0D)
        out.append(0x0A)
    }
}
