// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The name of any host as a host of the gateway, so that its pages have an origin of their own in a browser:
/// `https--api-example-com.localhost` represents `https://api.example.com`.
///
/// It is one label below `localhost`, so that two such names are two sites for a browser: the scheme, behind it `-` and
/// the port unless that is the scheme's default, two hyphens, and the host with `.` written `-` and `-` written `--`.
/// Each origin has at most one such name and each name represents one origin: other spellings are invalid, and
/// ambiguous hosts (a label that begins or ends with a hyphen), IPv6 addresses, and hosts that exceed the 63 bytes of
/// a label (RFC 1035 §2.3.4) have none.
package struct HostLabel: Equatable, Sendable {
    package let scheme: TargetURI.Scheme
    package let host: String
    package let port: UInt16

    static let suffix = ".localhost"
    private static let longest = 63

    /// The label of a name below `localhost` that has this form, valid or not; nil for other hosts.
    package static func label(of host: String) -> Substring? {
        guard host.hasSuffix(suffix) else { return nil }
        let label = host.dropLast(suffix.utf8.count)
        let rest = label.hasPrefix("https-") ? label.dropFirst(6) : label.hasPrefix("http-") ? label.dropFirst(5) : ""
        let behindPort = rest.drop { $0.isASCII && $0.isNumber }
        guard rest.first == "-" || behindPort.count < rest.count && behindPort.hasPrefix("--") else { return nil }
        return label
    }

    /// Parses a label; nil when it is invalid.
    package init?(_ label: some StringProtocol) {
        let scheme: TargetURI.Scheme = label.hasPrefix("https-") ? .https : .http
        let rest = label.dropFirst(scheme.text.utf8.count + 1)
        let digits = rest.prefix { $0 != "-" }
        let named = digits.isEmpty ? scheme.defaultPort : UInt16(digits)
        guard let port = named, port > 0,
            let host = HostLabel.host(of: rest.dropFirst(digits.isEmpty ? 1 : digits.count + 2))
        else { return nil }
        self.scheme = scheme
        self.host = host
        self.port = port
        // Rejects other spellings of it, such as `https-443--` or a port with leading zeros.
        guard self.label.map({ $0 == label }) == true else { return nil }
    }

    /// The name of an origin, if it has one.
    package init?(_ uri: TargetURI) {
        scheme = uri.scheme
        host = uri.host
        port = uri.port
        guard label != nil else { return nil }
    }

    /// Scheme, port and host as one label; nil where that would be invalid or ambiguous.
    package var label: String? {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard !host.hasPrefix("["), labels.allSatisfy({ !$0.isEmpty && $0.first != "-" && $0.last != "-" }) else {
            return nil
        }
        let written = labels.map { $0.replacing("-", with: "--") }.joined(separator: "-")
        let label = scheme.text + (port == scheme.defaultPort ? "" : "-\(port)") + "--" + written
        return label.utf8.count <= HostLabel.longest ? label : nil
    }

    /// Host and port, as in a `Host` field.
    package var authority: String { port == scheme.defaultPort ? host : "\(host):\(port)" }

    private static func host(of written: some StringProtocol) -> String? {
        var host = ""
        var hyphens = 0
        func ended() -> String { hyphens == 1 ? "." : String(repeating: "-", count: hyphens / 2) }
        for character in written {
            if character == "-" {
                hyphens += 1
                continue
            }
            guard hyphens < 2 || hyphens.isMultiple(of: 2) else { return nil }
            host += ended()
            hyphens = 0
            host.append(character)
        }
        return hyphens == 0 && !host.isEmpty ? host : nil
    }
}
