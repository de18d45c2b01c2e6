// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// A certificate authority of this machine alone: a client that trusts it lets Larder answer for other hosts.
///
/// Its certificate allows it to sign certificates of servers directly and nothing else. The key leaves this type only
/// for its file.
// @unchecked: certificate and key are not changed after `init`, and OpenSSL counts references to them atomically.
package final class LocalAuthority: @unchecked Sendable {
    /// The validity of an authority, in seconds.
    package static let lifetime: Int64 = 365 * 86_400
    /// The validity of a leaf.
    package static let leafLifetime: Int64 = 7 * 86_400
    /// How far the beginning of a certificate's validity is backdated, for clients whose clocks are slow.
    private static let backdating: Int64 = 3_600
    /// ub-common-name (RFC 5280 appendix A.1).
    private static let nameLimit = 64

    private let certificate: PEM.Certificate
    private let key: PEM.PrivateKey
    /// When it ends, in seconds since 1970.
    package let notAfter: Int64

    /// Makes an authority whose name says where and when it was made.
    ///
    /// - Parameters:
    ///   - machine: the host's name.
    ///   - day: as `22 Nov 2026`.
    ///   - now: seconds since 1970.
    package convenience init(machine: String, day: String, now: Int64) throws(IOError) {
        let frame = "Larder CA of , \(day)"
        let name = String(decoding: machine.utf8.prefix(LocalAuthority.nameLimit - frame.utf8.count), as: UTF8.self)
        try self.init(key: try .makeP256(), name: "Larder CA of \(name), \(day)", now: now)
    }

    private convenience init(key: PEM.PrivateKey, name: String, now: Int64) throws(IOError) {
        let request = CertificateRequest(
            commonName: name, validity: (now - LocalAuthority.backdating)...(now + LocalAuthority.lifetime),
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign"),
                (NID_subject_key_identifier, "hash"),
            ])
        self.init(certificate: try request.certificate(for: key, signedBy: nil), key: key)
    }

    /// Loads an authority from its files.
    package convenience init(certificate: String, privateKey: String) throws(IOError) {
        let operation = "read the local authority"
        let certificate = try PEM.certificates(certificate, operation)[0]
        let key = try PEM.privateKey(privateKey, operation)
        guard key.isKey(of: certificate), certificate.withPointer(X509_check_ca) == 1
        else { throw TLSFailure.setup(operation, "certificate and key do not belong together") }
        self.init(certificate: certificate, key: key)
    }

    private init(certificate: PEM.Certificate, key: PEM.PrivateKey) {
        self.certificate = certificate
        self.key = key
        notAfter = certificate.notAfter ?? 0
    }

    /// The same authority for another year: clients that trust either one accept leaves of both, while it is valid.
    package func renewed(now: Int64) throws(IOError) -> LocalAuthority {
        try LocalAuthority(key: key, name: name, now: now)
    }

    /// True if two certificates in PEM have one key, as the certificates of an authority before and after its renewal.
    package static func haveSameKey(_ one: String, _ other: String) -> Bool {
        func key(_ text: String) -> PEM.PrivateKey? {
            (try? PEM.certificates(text, "compare certificates"))?.first?.withPointer(X509_get_pubkey)
                .map(PEM.PrivateKey.init)
        }
        guard let first = key(one), let second = key(other) else { return false }
        return first.isSame(as: second)
    }

    /// The certificate in PEM.
    package var pem: String { String(decoding: certificate.octets, as: UTF8.self) }

    /// The key in PEM, only for its file.
    package var keyFile: [UInt8] { key.octets }

    /// The SHA-256 of the certificate as people compare it: `AB:CD:…`.
    package var fingerprint: String {
        certificate.digest.map { CollectionOfOne($0).hexadecimal.uppercased() }.joined(separator: ":")
    }

    /// The common name.
    package var name: String {
        let subject = certificate.subject
        let prefix = "/CN="
        return subject.hasPrefix(prefix) ? String(subject.dropFirst(prefix.utf8.count)) : subject
    }

    /// Makes a key, and a certificate for a host: a name, or an address without brackets.
    ///
    /// - Parameter now: seconds since 1970.
    package func leaf(for host: String, now: Int64) throws(IOError) -> LeafCertificate {
        let isAddress = SocketAddress(host: host, port: 0) != nil
        let names = (isAddress ? "IP:" : "DNS:") + host
        guard host.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: ",") }) else {
            throw TLSFailure.setup("make a certificate", "the host has no name")
        }
        let hasSubject = host.utf8.count <= LocalAuthority.nameLimit
        let end = min(now + LocalAuthority.leafLifetime, notAfter)
        guard end > now else { throw TLSFailure.setup("make a certificate", "the local authority has ended") }
        let request = CertificateRequest(
            commonName: hasSubject ? host : nil, validity: (now - LocalAuthority.backdating)...end,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                // Without a subject, this extension alone identifies the host (RFC 5280 §4.2.1.6).
                (NID_subject_alt_name, hasSubject ? names : "critical," + names),
                (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
            ])
        let leafKey = try PEM.PrivateKey.makeP256()
        return LeafCertificate(
            certificate: try request.certificate(for: leafKey, signedBy: (certificate, key)), key: leafKey, host: host,
            notAfter: end)
    }
}

/// A certificate for one host with its key. Shared by all loops.
// @unchecked: certificate and key are not changed after `init`, and OpenSSL counts references to them atomically.
package final class LeafCertificate: @unchecked Sendable {
    let certificate: PEM.Certificate
    let key: PEM.PrivateKey
    package let host: String
    /// When it ends, in seconds since 1970.
    package let notAfter: Int64
    /// The context id of its sessions: 32 bytes, the longest allowed.
    let sessionName: [UInt8]

    fileprivate init(certificate: PEM.Certificate, key: PEM.PrivateKey, host: String, notAfter: Int64) {
        self.certificate = certificate
        self.key = key
        self.host = host
        self.notAfter = notAfter
        var name = [UInt8](repeating: 0, count: 32)
        SHA256(Array(host.utf8), host.utf8.count, &name)
        sessionName = name
    }
}
