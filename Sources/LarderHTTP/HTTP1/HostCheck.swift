// SPDX-License-Identifier: Apache-2.0

/// The requirements on a request's Host field, checked before anything reads it (RFC 9112 §3.2): exactly one in
/// HTTP/1.1, at most one in 1.0, and its value is `uri-host [ ":" port ]`.
enum HostCheck {
    static func fault(in head: RequestHead) -> ParseError.Code? {
        var hosts = 0
        for line in head.fields.lines where line.code == FieldName.host.code { hosts &+= 1 }
        guard hosts == 1 else {
            return hosts > 1 ? .severalHosts : head.version == .http10 ? nil : .missingHost
        }
        // An http URI without a host is invalid (RFC 9110 §4.2.1). Only the origin-form takes its authority from
        // this field, so it may be empty with the others.
        let mayBeEmpty = head.target.first != 0x2F
        return head.fields.withFirst(.host) { value -> ParseError.Code? in
            if value.isEmpty { return mayBeEmpty ? nil : .emptyHost }
            return isHostAndPort(value.bytes) ? nil : .malformedHost
        } ?? nil
    }

    /// True if the bytes form a host and a port. The lengths of labels and the spellings of addresses are checked when
    /// the target URI is built.
    static func isHostAndPort(_ value: RawSpan) -> Bool {
        var end = 0
        if value[0] == 0x5B {
            while end < value.byteCount, value[end] != 0x5D { end &+= 1 }
            guard end < value.byteCount, IPv6Text.parse(value.extracting(1..<end)) != nil else { return false }
            end &+= 1
        } else {
            while end < value.byteCount, isNameOctet(value[end]) { end &+= 1 }
            guard end > 0 else { return false }
        }
        guard end < value.byteCount else { return true }
        guard value[end] == 0x3A else { return false }
        do throws(URIError) {
            _ = try URIHost.port(value.extracting(droppingFirst: end + 1))
            return true
        } catch {
            return false
        }
    }

    @inline(__always)
    private static func isNameOctet(_ octet: UInt8) -> Bool {
        // Letters, digits, `.`, `-` and `_`: a bit for each byte below 128.
        if octet < 64 { return 0x03FF_6000_0000_0000 & (1 &<< UInt64(octet)) != 0 }
        return octet < 128 && 0x07FF_FFFE_87FF_FFFE & (1 &<< UInt64(octet &- 64)) != 0
    }
}
