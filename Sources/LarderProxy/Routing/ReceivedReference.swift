// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A URI reference in a response as browsers interpret it, however it is written (URL §4.4), in a form valid by RFC
/// 3986, so that the mapped URL is the one a browser would follow.
struct ReceivedReference {
    let text: String

    /// - Parameter scheme: of the resource whose response contains it.
    init(_ received: String, scheme: TargetURI.Scheme) {
        // Surrounding blanks, and tabs anywhere, are ignored.
        var reference = received.filter { $0 != "\t" }[...]
        while reference.first == " " { reference.removeFirst() }
        while reference.last == " " { reference.removeLast() }
        let named = ReceivedReference.scheme(of: reference)
        guard named == nil || named == "http" || named == "https" else {
            text = received
            return
        }
        var rest = reference.dropFirst(named.map { $0.utf8.count + 1 } ?? 0)
        let queryStart = rest.firstIndex { $0 == "?" || $0 == "#" } ?? rest.endIndex
        // Web browsers read a backslash as a slash, and any number of slashes as two before a host.
        let path = String(rest[..<queryStart].replacing("\\", with: "/"))
        rest = rest[queryStart...]
        let host = String(path.drop { $0 == "/" })
        let written =
            switch named {
            case scheme.text where !path.hasPrefix("//"): path
            case .some(let named): named + "://" + host
            case nil: path.hasPrefix("//") ? "//" + host : path
            }
        text = ReceivedReference.encoded(written + rest)
    }

    /// The scheme in lower case, if there is one (RFC 3986 §3.1).
    private static func scheme(of reference: Substring) -> String? {
        guard let colon = reference.firstIndex(of: ":") else { return nil }
        let scheme = reference[..<colon]
        guard let first = scheme.utf8.first, ASCII.isAlpha(first),
            scheme.utf8.allSatisfy({ ASCII.isAlpha($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) })
        else { return nil }
        return scheme.lowercased()
    }

    /// The same with octets invalid in URIs percent-encoded, and percent signs without a triplet.
    private static func encoded(_ text: String) -> String {
        let octets = Array(text.utf8)
        var result: [UInt8] = []
        for (index, octet) in octets.enumerated() {
            let beginsTriplet =
                index + 2 < octets.count && ASCII.hexValue(octets[index + 1]) != nil
                && ASCII.hexValue(octets[index + 2]) != nil
            let isPlain = octet == UInt8(ascii: "%") ? beginsTriplet : (0x21...0x7E).contains(octet)
            if isPlain, octet != UInt8(ascii: "\\") {
                result.append(octet)
            } else {
                result += PercentText.triplet(octet)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
