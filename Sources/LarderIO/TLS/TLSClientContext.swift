// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// How we speak TLS as a client: whom we trust, and the sessions that can be resumed. Shared by all loops.
///
/// Peers are always verified: issuer, validity, and that the certificate is for the host asked for.
// @unchecked: the SSL_CTX is not changed after `init`, and OpenSSL locks what connections share in it.
package final class TLSClientContext: @unchecked Sendable {
    /// How many hosts' sessions are kept.
    private static let sessionLimit = 512

    let context: OpaquePointer
    private let protocols: [UInt8]
    private let reusesSessions: Bool
    /// The latest session of each host, owned. Each is used once (RFC 8446 §C.4).
    private let sessions = Lock<[String: OpaquePointer]>([:])

    /// - Parameters:
    ///   - trustsSystem: whether the authorities the system trusts are trusted (`SSL_CERT_FILE` and `SSL_CERT_DIR` move
    ///     them).
    ///   - authorityFiles: PEM files with further authorities.
    ///   - authorities: further authorities in PEM.
    ///   - certificateFile, keyFile: what we prove who we are with, in PEM; our certificate first, then its issuers'.
    ///   - applicationProtocols: offered by ALPN, in order of preference.
    package init(
        trustsSystem: Bool = true, authorityFiles: [String] = [], authorities: String? = nil,
        certificateFile: String? = nil, keyFile: String? = nil,
        applicationProtocols: [String] = ["http/1.1"], reusesSessions: Bool = true
    ) throws(IOError) {
        let operation = "set up TLS for connections to origins"
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw TLSFailure.setup(operation, "no memory") }
        self.context = context
        self.reusesSessions = reusesSessions
        protocols = applicationProtocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        _ = larder_ssl_ctx_require_tls12(context)
        larder_ssl_ctx_set_modes(context)
        larder_ssl_ctx_refuse_renegotiation(context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_client_cert_cb(context, certificateRequested)
        if trustsSystem, SSL_CTX_set_default_verify_paths(context) != 1 {
            throw TLSFailure.setup(operation, "the system's authorities could not be found")
        }
        for authorityFile in authorityFiles where SSL_CTX_load_verify_locations(context, authorityFile, nil) != 1 {
            throw TLSFailure.setup(operation, "\(authorityFile) is not a readable PEM file of certificates")
        }
        if let authorities {
            for certificate in try PEM.certificates(authorities, operation) {
                X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.pointer)
            }
        }
        if let certificateFile, let keyFile {
            try TLSClientContext.prove(certificateFile, keyFile, with: context, operation)
        }
        if reusesSessions {
            larder_ssl_ctx_hand_out_client_sessions(context)
            SSL_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(self).toOpaque())
            SSL_CTX_sess_set_new_cb(context, sessionArrived)
        }
    }

    private static func prove(
        _ certificateFile: String, _ keyFile: String, with context: OpaquePointer, _ operation: String
    ) throws(IOError) {
        defer { ERR_clear_error() }
        SSL_CTX_set_default_passwd_cb(context, PEM.noPassphrase)
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            throw TLSFailure.setup(operation, "\(certificateFile) is not a readable PEM file with a certificate")
        }
        guard SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1 else {
            throw TLSFailure.setup(
                operation,
                "\(keyFile) is not a readable PEM file with the private key of \(certificateFile), without a passphrase"
            )
        }
    }

    deinit {
        sessions.withLock { sessions in
            for session in sessions.values { SSL_SESSION_free(session) }
        }
        SSL_CTX_free(context)
    }

    /// Makes what speaks TLS to `host`, a name or a numeric address.
    func makeSession(for host: String, on descriptor: Int32) throws(IOError) -> OpaquePointer {
        let operation = "begin TLS with \(host)"
        guard let ssl = SSL_new(context) else { throw TLSFailure.setup(operation, "no memory") }
        SSL_set_connect_state(ssl)
        var isReady = larder_ssl_set_socket(ssl, descriptor) == 1
        isReady = isReady && SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) == 0
        if let address = SocketAddress(host: host, port: 0) {
            // No SNI for addresses (RFC 6066 §3).
            isReady = isReady && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address.host) == 1
        } else {
            let name = host.hasSuffix(".") ? String(host.dropLast()) : host
            // The common name is none of the names a certificate is for (RFC 9525 §2).
            SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            isReady = isReady && SSL_set1_host(ssl, name) == 1 && larder_ssl_set_server_name(ssl, name) == 1
            if reusesSessions, let session = sessions.withLock({ $0.removeValue(forKey: name) }) {
                SSL_set_session(ssl, session)
                SSL_SESSION_free(session)
            }
        }
        guard isReady else {
            SSL_free(ssl)
            throw TLSFailure.setup(operation, "the host's name cannot be used with TLS")
        }
        return ssl
    }

    /// Keeps `session` for the next connection to `host`. A session says which certificate was verified, not for
    /// which host: so it must only ever be offered to the host it came from.
    fileprivate func keep(_ session: OpaquePointer, for host: String) {
        let old = sessions.withLock { sessions in
            let old = sessions.updateValue(session, forKey: host)
            guard old == nil, sessions.count > Self.sessionLimit, let any = sessions.keys.first(where: { $0 != host })
            else { return old }
            return sessions.removeValue(forKey: any)
        }
        if let old { SSL_SESSION_free(old) }
    }
}

/// Answers 1 if the session was kept, together with OpenSSL's reference.
private func sessionArrived(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let ssl, let session, let this = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0),
        let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)
    else { return 0 }
    Unmanaged<TLSClientContext>.fromOpaque(this).takeUnretainedValue().keep(session, for: String(cString: name))
    return 1
}

/// The server asks who we are. We are nobody; that it asked is remembered.
private func certificateRequested(
    _ ssl: OpaquePointer?, _: UnsafeMutablePointer<OpaquePointer?>?, _: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    SSL_set_ex_data(ssl, 0, SSL_get_SSL_CTX(ssl).map { UnsafeMutableRawPointer($0) })
    return 0
}
