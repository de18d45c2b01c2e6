// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The contents of a new certificate, and its issuer (RFC 5280 §4).
struct CertificateRequest {
    /// The common name; nil leaves the subject empty.
    var commonName: String?
    /// The period of validity, in seconds since 1970.
    var validity: ClosedRange<Int64>
    /// In the syntax of OpenSSL's configuration (x509v3_config(5)), in the order they are added.
    var extensions: [(kind: Int32, value: String)]

    /// Makes the certificate of `key`, signed by `issuer`, or by its own key without one.
    func certificate(
        for key: PEM.PrivateKey, signedBy issuer: (certificate: PEM.Certificate, key: PEM.PrivateKey)?
    ) throws(IOError) -> PEM.Certificate {
        let operation = "make a certificate"
        guard let pointer = X509_new() else { throw TLSFailure.setup(operation, "no memory") }
        let made = PEM.Certificate(pointer)
        var isMade = X509_set_version(pointer, 2) == 1
        isMade = isMade && CertificateRequest.setSerial(of: pointer)
        isMade = isMade && ASN1_TIME_set(X509_getm_notBefore(pointer), time_t(validity.lowerBound)) != nil
        isMade = isMade && ASN1_TIME_set(X509_getm_notAfter(pointer), time_t(validity.upperBound)) != nil
        isMade = isMade && key.withPointer { X509_set_pubkey(pointer, $0) } == 1
        let subject = X509_get_subject_name(pointer)
        if let commonName {
            let text = Array(commonName.utf8)
            isMade =
                isMade
                && X509_NAME_add_entry_by_NID(
                    subject, NID_commonName, CertificateRequest.utf8Text, text, Int32(text.count), -1, 0) == 1
        }
        let signer = issuer?.certificate ?? made
        isMade = isMade && signer.withPointer { X509_set_issuer_name(pointer, X509_get_subject_name($0)) } == 1
        guard isMade else { throw TLSFailure.setup(operation, "OpenSSL refuses its fields") }
        try signer.withPointer { signer in
            Result { () throws(IOError) in try add(extensions, to: pointer, issuer: signer) }
        }
        .get()
        guard (issuer?.key ?? key).withPointer({ X509_sign(pointer, $0, EVP_sha256()) }) > 0 else {
            throw TLSFailure.setup(operation, "it cannot be signed")
        }
        return made
    }

    private func add(
        _ extensions: [(kind: Int32, value: String)], to certificate: OpaquePointer, issuer: OpaquePointer
    ) throws(IOError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        for (kind, value) in extensions {
            guard let item = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
                throw TLSFailure.setup("make a certificate", "OpenSSL does not understand \(value)")
            }
            let isAdded = X509_add_ext(certificate, item, -1) == 1
            X509_EXTENSION_free(item)
            guard isAdded else { throw TLSFailure.setup("make a certificate", "no memory") }
        }
    }

    /// 127 random bits: more than the 64 that make it unpredictable (RFC 5280 §4.1.2.2 bounds its length).
    private static func setSerial(of certificate: OpaquePointer) -> Bool {
        var octets = [UInt8](repeating: 0, count: 16)
        guard RAND_bytes(&octets, Int32(octets.count)) == 1 else { return false }
        octets[0] = octets[0] & 0x3F | 0x40
        guard let number = BN_bin2bn(octets, Int32(octets.count), nil) else { return false }
        defer { BN_free(number) }
        return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    /// MBSTRING_UTF8, whose macro Swift does not import.
    private static let utf8Text: Int32 = 0x1000
}

extension PEM.PrivateKey {
    static func makeP256() throws(IOError) -> PEM.PrivateKey {
        guard let key = larder_make_p256_key() else { throw TLSFailure.setup("make a key", "OpenSSL makes none") }
        return PEM.PrivateKey(key)
    }

    func isSame(as other: PEM.PrivateKey) -> Bool {
        withPointer { own in other.withPointer { EVP_PKEY_eq(own, $0) } } == 1
    }

    func isKey(of certificate: PEM.Certificate) -> Bool {
        withPointer { own in certificate.withPointer { X509_check_private_key($0, own) } } == 1
    }

    /// In PEM, without a passphrase.
    var octets: [UInt8] { PEM.written { PEM_write_bio_PrivateKey($0, pointer, nil, nil, 0, nil, nil) } }
}

extension PEM.Certificate {
    /// In PEM.
    var octets: [UInt8] { PEM.written { PEM_write_bio_X509($0, pointer) } }

    /// Seconds since 1970; nil when the certificate has no valid date.
    var notAfter: Int64? { X509_get0_notAfter(pointer).flatMap(PEM.Certificate.seconds) }

    /// SHA-256 of its DER.
    var digest: [UInt8] {
        var octets = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(pointer, EVP_sha256(), &octets, &count) == 1 else { return [] }
        return Array(octets.prefix(Int(count)))
    }

    /// The subject in one line.
    var subject: String {
        var text = [CChar](repeating: 0, count: 512)
        X509_NAME_oneline(X509_get_subject_name(pointer), &text, Int32(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>) -> Int64? {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}

extension PEM {
    /// The bytes that `write` writes.
    fileprivate static func written(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
        guard let bio = BIO_new(BIO_s_mem()) else { return [] }
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { return [] }
        var octets = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(bio)))
        let count = BIO_read(bio, &octets, Int32(octets.count))
        return Array(octets.prefix(Int(max(0, count))))
    }
}
