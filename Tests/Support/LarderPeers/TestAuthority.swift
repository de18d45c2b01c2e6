// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
package import LarderIO

/// A certificate authority made for one test, and the certificates it gives.
package final class TestAuthority {
    /// A certificate with its key, both in PEM.
    package struct Identity: Sendable {
        package var certificate: String
        package var privateKey: String

        /// The TLS of a server that reads them from files.
        ///
        /// - Parameter protocols: what is agreed to by ALPN; a client that offers others gets an alert.
        package func serverContext(_ protocols: [String] = ["http/1.1"]) throws -> TLSServerContext {
            let directory = FreshDirectory()
            let (certificateFile, keyFile) = ("\(directory.path)/certificate", "\(directory.path)/key")
            try certificate.write(toFile: certificateFile, atomically: true, encoding: .utf8)
            try privateKey.write(toFile: keyFile, atomically: true, encoding: .utf8)
            return try withExtendedLifetime(directory) {
                try TLSServerContext(
                    certificateFile: certificateFile, keyFile: keyFile, applicationProtocols: protocols)
            }
        }
    }

    private let certificate: OpaquePointer
    private let key: OpaquePointer

    package init(name: String = "Larder test authority") {
        key = Self.makeKey()
        certificate = Self.makeCertificate(
            for: name, key: key, validity: -3600...86400,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
            ], signedBy: nil)
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// The authority's own certificate in PEM, for those who are to trust it.
    package var pem: String { Self.text { PEM_write_bio_X509($0, certificate) } }

    /// Gives a certificate for `names`, as in `DNS:example.org` or `IP:127.0.0.1`.
    /// - Parameters:
    ///   - subject: the common name.
    ///   - validity: from and until when, in seconds from now.
    package func identity(
        _ names: String..., subject: String = "leaf", validity: ClosedRange<Int> = -3600...86400
    ) -> Identity {
        let key = Self.makeKey()
        defer { EVP_PKEY_free(key) }
        let leaf = Self.makeCertificate(
            for: subject, key: key, validity: validity,
            extensions: (names.isEmpty ? [] : [(NID_subject_alt_name, names.joined(separator: ","))])
                + [(NID_basic_constraints, "critical,CA:FALSE")], signedBy: self)
        defer { X509_free(leaf) }
        return Identity(
            certificate: Self.text { PEM_write_bio_X509($0, leaf) },
            privateKey: Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) })
    }

    private static func makeKey() -> OpaquePointer {
        guard let key = larder_make_p256_key() else { preconditionFailure("OpenSSL makes no key") }
        return key
    }

    private static func makeCertificate(
        for name: String, key: OpaquePointer, validity: ClosedRange<Int>, extensions: [(Int32, String)],
        signedBy authority: TestAuthority?
    ) -> OpaquePointer {
        guard let certificate = X509_new() else { preconditionFailure("OpenSSL makes no certificate") }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), .random(in: 1...(.max >> 1)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), validity.lowerBound)
        X509_gmtime_adj(X509_getm_notAfter(certificate), validity.upperBound)
        X509_set_pubkey(certificate, key)
        let subject = X509_get_subject_name(certificate)
        if !name.isEmpty {
            X509_NAME_add_entry_by_txt(subject, "CN", utf8Text, Array(name.utf8), Int32(name.utf8.count), -1, 0)
        }
        X509_set_issuer_name(certificate, authority.map { X509_get_subject_name($0.certificate) } ?? subject)
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, authority?.certificate ?? certificate, certificate, nil, nil, 0)
        for (kind, value) in extensions {
            guard let item = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
                preconditionFailure("OpenSSL does not understand \(value)")
            }
            X509_add_ext(certificate, item, -1)
            X509_EXTENSION_free(item)
        }
        X509_sign(certificate, authority?.key ?? key, EVP_sha256())
        return certificate
    }

    /// MBSTRING_UTF8, whose macro Swift does not import.
    private static let utf8Text: Int32 = 0x1000

    private static func text(_ write: (OpaquePointer?) -> Int32) -> String {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { preconditionFailure("OpenSSL writes no PEM") }
        var octets = [UInt8](repeating: 0, count: 16384)
        let count = BIO_read(bio, &octets, Int32(octets.count))
        return String(decoding: octets.prefix(Int(max(0, count))), as: UTF8.self)
    }
}
