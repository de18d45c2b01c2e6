// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not an `http` or `https` URI that Larder accepts (RFC 3986, RFC 9110 §4.2).
public enum URIError: Error, Hashable, Sendable {
    /// There are no bytes at all.
    case empty
    /// Longer, before or after normalisation, than `TargetURI.lengthLimit` bytes.
    case tooLong
    /// Neither `http` nor `https`, or no scheme at all.
    case unsupportedScheme
    /// RFC 9110 §4.2.1: an empty host identifier is invalid.
    case missingHost
    /// RFC 9110 §4.2.4: user information disguises the host.
    case userInformation
    /// Neither a name, nor an IPv4 address, nor an IPv6 address in brackets.
    case invalidHost
    /// Not a run of digits between 1 and 65535.
    case invalidPort
    /// A host is needed with a port, as in the target of CONNECT.
    case missingPort
    /// A path that does not begin with a slash.
    case relativePath
    /// A byte that is not allowed in URIs and that Larder does not guess about; `at` counts from the start of the
    /// part that contains it.
    case invalidCharacter(UInt8, at: Int)
    /// A percent sign without two hexadecimal digits behind it.
    case invalidPercentEncoding(at: Int)
    /// RFC 9110 §7.1: a target URI excludes the fragment.
    case fragment
}

extension URIError: CustomStringConvertible {
    /// One sentence a person can act on.
    public var description: String {
        switch self {
        case .empty: "the URI is empty"
        case .tooLong: "the URI is longer than \(TargetURI.lengthLimit) octets"
        case .unsupportedScheme: "the URI begins with neither http:// nor https://"
        case .missingHost: "the URI has no host"
        case .userInformation: "the URI holds a user name or password; send them in a field instead"
        case .invalidHost:
            "the host is neither a name, nor a dotted-decimal IPv4 address, nor an IPv6 address in brackets"
        case .invalidPort: "the port is not a number from 1 to 65535"
        case .missingPort: "the host is not followed by a port"
        case .relativePath: "the path does not begin with a slash"
        case .invalidCharacter(let octet, let offset):
            "octet 0x\(String(octet, radix: 16)) at offset \(offset) must be percent-encoded"
        case .invalidPercentEncoding(let offset): "the percent sign at offset \(offset) needs two hexadecimal digits"
        case .fragment: "the URI has a fragment, which is never sent"
        }
    }
}
