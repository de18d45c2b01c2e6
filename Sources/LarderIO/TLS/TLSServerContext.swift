// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// How we speak TLS as a server: with a certificate of our own, or with one for each connection. Shared by all loops.
// @unchecked: the SSL_CTX is not changed after `init`, and OpenSSL locks the state that connections share.
package final class TLSServerContext: @unchecked Sendable {
    let context: OpaquePointer
    /// In the wire's form: each name with its length before it.
    fileprivate let protocols: [UInt8]
    /// The contexts with other certificates, for clients that ask for their hosts by SNI. Set in `init`.
    private var others: [TLSServerContext] = []

    /// - Parameters:
    ///   - certificateFile: a PEM file with our certificate first, then the certificates of its issuers.
    ///   - keyFile: a PEM file, without a passphrase.
    ///   - applicationProtocols: the protocols to accept by ALPN, in order of preference. A client that offers only
    ///     other protocols is refused (RFC 7301 §3.2).
    package convenience init(
        certificateFile: String, keyFile: String, applicationProtocols: [String] = ["http/1.1"]
    ) throws(IOError) {
        let operation = "set up TLS for clients"
        try self.init(applicationProtocols: applicationProtocols)
        SSL_CTX_set_default_passwd_cb(context, PEM.noPassphrase)
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            throw TLSFailure.setup(operation, "\(certificateFile) is not a readable PEM file of certificates")
        }
        guard SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw TLSFailure.setup(operation, "\(keyFile) is not a readable PEM file of the certificate's key")
        }
    }

    /// - Parameters:
    ///   - identities: the first is shown to clients that ask for no host of another one, or for none.
    ///   - clientAuthorityFile: a PEM file with authorities. With one, clients have to prove who they are by a certificate
    ///     that one of these has signed.
    package convenience init(identities: [TLSIdentityFiles], clientAuthorityFile: String?) throws(IOError) {
        guard let first = identities.first else {
            throw TLSFailure.setup("set up TLS for clients", "there is no certificate")
        }
        try self.init(certificateFile: first.certificate, keyFile: first.key)
        for identity in identities.dropFirst() {
            others.append(try TLSServerContext(certificateFile: identity.certificate, keyFile: identity.key))
        }
        if !others.isEmpty {
            larder_ssl_ctx_on_server_name(context, hostNamed, Unmanaged.passUnretained(self).toOpaque())
        }
        guard let clientAuthorityFile else { return }
        for context in [self] + others { try context.demandCertificates(signedBy: clientAuthorityFile) }
    }

    private func demandCertificates(signedBy file: String) throws(IOError) {
        guard SSL_CTX_load_verify_locations(context, file, nil) == 1, let names = SSL_load_client_CA_file(file) else {
            throw TLSFailure.setup("set up TLS for clients", "\(file) is not a readable PEM file of certificates")
        }
        // The names of the authorities are told to clients, which choose their certificate by them.
        SSL_CTX_set_client_CA_list(context, names)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        // The dates of a certificate are looked at in a handshake, and not when a session is resumed.
        larder_ssl_ctx_resume_nothing(context)
    }

    /// Has a connection go on with the certificate for `host`, if one of the others is for it.
    fileprivate func choose(for host: UnsafePointer<CChar>, on ssl: OpaquePointer) {
        if isFor(host) { return }
        if let other = others.first(where: { $0.isFor(host) }) { SSL_set_SSL_CTX(ssl, other.context) }
    }

    private func isFor(_ host: UnsafePointer<CChar>) -> Bool {
        guard let certificate = SSL_CTX_get0_certificate(context) else { return false }
        let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        return X509_check_host(certificate, host, 0, UInt32(flags), nil) == 1
    }

    /// Without a certificate: each connection brings its leaf.
    package init(applicationProtocols: [String] = ["http/1.1"]) throws(IOError) {
        let operation = "set up TLS for clients"
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TLSFailure.setup(operation, "no memory") }
        self.context = context
        protocols = applicationProtocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        _ = larder_ssl_ctx_require_tls12(context)
        larder_ssl_ctx_set_modes(context)
        larder_ssl_ctx_refuse_renegotiation(context)
        larder_ssl_ctx_keep_no_server_sessions(context)
        // One ticket for each connection: a client that resumes gets the next one then.
        SSL_CTX_set_num_tickets(context, 1)
        // Which sessions belong together must be said before sessions can be resumed; any constant will do.
        SSL_CTX_set_session_id_context(context, Array("larder".utf8), 6)
        SSL_CTX_set_alpn_select_cb(context, protocolSelected, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { SSL_CTX_free(context) }

    func makeSession(on descriptor: Int32) throws(IOError) -> OpaquePointer {
        let operation = "begin TLS with a client"
        guard let ssl = SSL_new(context) else { throw TLSFailure.setup(operation, "no memory") }
        guard larder_ssl_set_socket(ssl, descriptor) == 1 else {
            SSL_free(ssl)
            throw TLSFailure.setup(operation, "no memory")
        }
        SSL_set_accept_state(ssl)
        return ssl
    }

    /// Makes what answers a client as `leaf`'s host. The bytes of `early` were read from the socket already.
    ///
    /// Sessions belong to the host: what was agreed on as one is never resumed as another.
    func makeSession(
        on descriptor: Int32, leaf: LeafCertificate, early: UnsafeRawBufferPointer
    ) throws(IOError) -> OpaquePointer {
        let operation = "begin TLS with a client"
        let ssl = try makeSession(on: descriptor)
        let name = leaf.sessionName
        guard leaf.certificate.withPointer({ SSL_use_certificate(ssl, $0) }) == 1,
            leaf.key.withPointer({ SSL_use_PrivateKey(ssl, $0) }) == 1,
            SSL_set_session_id_context(ssl, name, UInt32(name.count)) == 1, let before = BIO_new(BIO_s_mem()),
            BIO_write(before, early.baseAddress, Int32(early.count)) == early.count
        else {
            SSL_free(ssl)
            throw TLSFailure.setup(operation, "the certificate cannot be used")
        }
        SSL_set0_rbio(ssl, before)
        return ssl
    }

    /// The range of our preferred ALPN protocol in `offered` (wire format), or nil.
    fileprivate func choose(among offered: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        for ours in Self.names(of: protocols) {
            let name = protocols[ours]
            if let theirs = Self.names(of: offered).first(where: { offered[$0].elementsEqual(name) }) { return theirs }
        }
        return nil
    }

    /// The ranges of the names in a list in wire format, each after its length. A truncated list ends early.
    private static func names(of list: some RandomAccessCollection<UInt8>) -> [Range<Int>] {
        let list = Array(list)
        var names: [Range<Int>] = []
        var position = 0
        while position < list.count {
            let end = position + 1 + Int(list[position])
            guard end <= list.count else { break }
            names.append((position + 1)..<end)
            position = end
        }
        return names
    }
}

/// The PEM files of a certificate, with its issuers' certificates behind it, and of its key.
package struct TLSIdentityFiles: Sendable, Hashable {
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

private func hostNamed(
    _ ssl: OpaquePointer?, _: UnsafeMutablePointer<Int32>?, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    if let ssl, let argument, let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) {
        Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue().choose(for: name, on: ssl)
    }
    // Clients asking for a host without a certificate get the first one, and can reject it.
    return SSL_TLSEXT_ERR_OK
}

private func protocolSelected(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let argument, let chosen, let length, let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let context = Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue()
    guard let name = context.choose(among: UnsafeBufferPointer(start: offered, count: Int(offeredLength))) else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    chosen.pointee = offered + name.lowerBound
    length.pointee = UInt8(name.count)
    return SSL_TLSEXT_ERR_OK
}
