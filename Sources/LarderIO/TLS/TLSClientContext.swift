// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// How we speak TLS as a client: whom we trust, and the sessions that can be resumed. Shared by all loops.
///
/// Peers are always verified: issuer, validity, and that the certificate is for the host asked for.
package final class TLSClientContext: Sendable {
    let context: LazyContext
    private let protocols: [UInt8]
    /// Nil where sessions are not resumed.
    private let sessions: KeptSessions?
    /// Nil where the system's authorities are not trusted.
    private let systemTrust: SystemTrust?

    /// - Parameters:
    ///   - trustsSystem: whether the authorities the system trusts are trusted (`SSL_CERT_FILE` and `SSL_CERT_DIR` move
    ///     them). They are read for the first connection.
    ///   - authorityFiles: PEM files with further authorities.
    ///   - authorities: further authorities in PEM.
    ///   - certificateFile, keyFile: what we prove who we are with, in PEM; our certificate first, then its issuers'.
    ///   - applicationProtocols: offered by ALPN, in order of preference.
    package init(
        trustsSystem: Bool = true, authorityFiles: [String] = [], authorities: String? = nil,
        certificateFile: String? = nil, keyFile: String? = nil,
        applicationProtocols: [String] = ["http/1.1"], reusesSessions: Bool = true
    ) throws(IOError) {
        let sessions = reusesSessions ? KeptSessions() : nil
        let context = LazyContext { () throws(IOError) in
            let operation = TLSClientContext.operation
            guard let context = SSL_CTX_new(TLS_client_method()) else { throw TLSFailure.setup(operation, "no memory") }
            do throws(IOError) {
                _ = larder_ssl_ctx_require_tls12(context)
                larder_ssl_ctx_set_modes(context)
                larder_ssl_ctx_refuse_renegotiation(context)
                SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
                SSL_CTX_set_client_cert_cb(context, certificateRequested)
                for authorityFile in authorityFiles
                where SSL_CTX_load_verify_locations(context, authorityFile, nil) != 1 {
                    throw TLSFailure.setup(operation, "\(authorityFile) is not a readable PEM file of certificates")
                }
                for certificate in try authorities.map({ text throws(IOError) in
                    try PEM.certificates(text, operation)
                }) ?? [] {
                    certificate.withPointer { _ = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), $0) }
                }
                if let certificateFile, let keyFile {
                    try TLSClientContext.prove(certificateFile, keyFile, with: context)
                }
                sessions?.keep(from: context)
                return context
            } catch {
                SSL_CTX_free(context)
                throw error
            }
        }
        self.context = context
        self.sessions = sessions
        systemTrust = trustsSystem ? SystemTrust { context.trustSystem() } : nil
        protocols = applicationProtocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        // Wrong files are to be known of at once.
        if !authorityFiles.isEmpty || authorities != nil || certificateFile != nil { _ = try context.made() }
    }

    private static let operation = "set up TLS for connections to origins"

    private static func prove(
        _ certificateFile: String, _ keyFile: String, with context: OpaquePointer
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

    /// Starts to read what connections need, so that it may be there when one is open.
    package func prepare() { systemTrust?.begin() }

    /// Returns when connections can be verified.
    func prepared() async throws(IOError) {
        guard let systemTrust, await !systemTrust.isFound() else { return }
        throw TLSFailure.setup(TLSClientContext.operation, "the system's authorities could not be found")
    }

    /// Makes what speaks TLS to `host`, a name or a numeric address.
    func makeSession(for host: String, on descriptor: Int32) throws(IOError) -> OpaquePointer {
        let operation = "begin TLS with \(host)"
        guard let ssl = SSL_new(try context.made()) else { throw TLSFailure.setup(operation, "no memory") }
        SSL_set_connect_state(ssl)
        var isReady = larder_ssl_set_socket(ssl, descriptor) == 1
        isReady = isReady && SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) == 0
        if let address = SocketAddress(host: host, port: 0) {
            // No SNI for addresses (RFC 6066 §3).
            isReady = isReady && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address.host) == 1
        } else {
            let name = host.hasSuffix(".") ? String(host.dropLast()) : host
            // A certificate is not valid for its common name (RFC 9525 §2).
            SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            isReady = isReady && SSL_set1_host(ssl, name) == 1 && larder_ssl_set_server_name(ssl, name) == 1
            if let session = sessions?.take(for: name) {
                // The dates of a certificate are looked at in a handshake, and not when a session is resumed.
                let isValid = X509_cmp_current_time(X509_get0_notAfter(SSL_SESSION_get0_peer(session))) > 0
                if isValid { SSL_set_session(ssl, session) }
                SSL_SESSION_free(session)
            }
        }
        guard isReady else {
            SSL_free(ssl)
            throw TLSFailure.setup(operation, "the host's name cannot be used with TLS")
        }
        return ssl
    }
}

/// OpenSSL's part of a context, made when it is first needed: the first one of a process takes a sixth of the time that
/// a daemon needs to start.
// @unchecked: `context` is made with its lock held. Later only the system's authorities are added, before the first
// connection; OpenSSL locks the state that connections share.
final class LazyContext: @unchecked Sendable {
    private let context = Lock<OpaquePointer?>(nil)
    private let make: @Sendable () throws(IOError) -> OpaquePointer

    init(_ make: @escaping @Sendable () throws(IOError) -> OpaquePointer) { self.make = make }

    deinit {
        if let context = context.withLock({ $0 }) { SSL_CTX_free(context) }
    }

    func made() throws(IOError) -> OpaquePointer {
        let outcome: Result<OpaquePointer, IOError> = context.withLock { context in
            if let context { return .success(context) }
            do throws(IOError) {
                let made = try make()
                context = made
                return .success(made)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Reads the system's authorities. False when there are none.
    func trustSystem() -> Bool {
        guard let context = try? made() else { return false }
        return SSL_CTX_set_default_verify_paths(context) == 1
    }
}

/// The latest session of each host, owned. Each is used once (RFC 8446 §C.4).
// @unchecked: OpenSSL counts the references to sessions, and does not change them.
private final class KeptSessions: @unchecked Sendable {
    /// How many hosts' sessions are kept.
    private static let limit = 512

    private let sessions = Lock<[String: OpaquePointer]>([:])

    deinit {
        sessions.withLock { sessions in
            for session in sessions.values { SSL_SESSION_free(session) }
        }
    }

    /// Has `context`, which these must outlive, keep its sessions here.
    func keep(from context: OpaquePointer) {
        larder_ssl_ctx_hand_out_client_sessions(context)
        SSL_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(self).toOpaque())
        SSL_CTX_sess_set_new_cb(context, sessionArrived)
    }

    func take(for host: String) -> OpaquePointer? { sessions.withLock { $0.removeValue(forKey: host) } }

    /// Keeps `session` for the next connection to `host`. A session says which certificate was verified, not for
    /// which host: so it must only ever be offered to the host it came from.
    func keep(_ session: OpaquePointer, for host: String) {
        let old = sessions.withLock { sessions in
            let old = sessions.updateValue(session, forKey: host)
            guard old == nil, sessions.count > KeptSessions.limit, let any = sessions.keys.first(where: { $0 != host })
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
    Unmanaged<KeptSessions>.fromOpaque(this).takeUnretainedValue().keep(session, for: String(cString: name))
    return 1
}

/// The server asks for a client certificate. We send none, and record that the server asked.
private func certificateRequested(
    _ ssl: OpaquePointer?, _: UnsafeMutablePointer<OpaquePointer?>?, _: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    SSL_set_ex_data(ssl, 0, SSL_get_SSL_CTX(ssl).map { UnsafeMutableRawPointer($0) })
    return 0
}
