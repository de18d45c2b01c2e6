// SPDX-License-Identifier: Apache-2.0

/// Why a client's https was tunnelled instead of intercepted.
package enum TunnelReason: String, CaseIterable, Sendable {
    /// Its host is not in the list of intercepted hosts.
    case notListed
    /// `intercept.except` lists it.
    case excluded
    /// The client does not trust the local authority.
    case refused
    /// No TLS, TLS for another name, or a protocol other than HTTP.
    case otherProtocol
    /// The origin requests client certificates, and Larder has none.
    case clientCertificate
    /// The client offers HTTP/2 and no HTTP/1.1.
    case clientHTTP2
    /// The origin refuses HTTP/1.1.
    case originHTTP2
    /// No certificate for the host could be issued.
    case noCertificate
    /// The client reached Larder itself over TLS, and only one layer is supported.
    case overTLS

    /// For people, as in "tunnelled: …".
    package var words: String {
        switch self {
        case .notListed: "the host is not in `intercept.hosts`"
        case .excluded: "the host is in `intercept.except`"
        case .refused: "the client does not trust the local CA"
        case .otherProtocol: "what the client speaks is no https, or for another name"
        case .clientCertificate: "the origin asks for a client certificate"
        case .clientHTTP2: "the client speaks HTTP/2 only"
        case .originHTTP2: "the origin speaks HTTP/2 only"
        case .noCertificate: "no certificate could be made for the host"
        case .overTLS: "the client reached Larder over TLS, inside of which there is no other"
        }
    }
}
