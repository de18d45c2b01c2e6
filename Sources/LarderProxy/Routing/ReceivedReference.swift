// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A URI reference in a response as browsers interpret it, however it is written (URL §4.4), in a form valid by RFC
/// 3986, so that the mapped URL is the one a browser would follow.
struct ReceivedReference {
    let text: String

    /// - Parameters:
    ///   - received: a field's value, or a part of one.
    ///   - scheme: of the resource whose response contains it.
    init(_ received: String, scheme: TargetURI.Scheme) {
        if ReceivedReference.isPlainPath(received) {
            text = received
            return
        }
        // Surrounding blanks, and tabs anywhere, are ignored.
        var reference = received.filter { $0 != "\t" }[...]
        while reference.first == " " { reference.removeFirst() }
        while reference.last == " " { reference.removeLast() }
        let named = TargetURI.scheme(of: reference)
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
        text = PercentText.reference(inField: written + rest)
    }
    /// True for a path with query and fragment in which every character is literal, as in most references.
    private static func isPlainPath(_ received: String) -> Bool {
        received.hasPrefix("/") && !received.hasPrefix("//")
            && received.utf8.allSatisfy { URICharacter.kind(of: $0) == .plain || $0 == UInt8(ascii: "#") }
    }
}
