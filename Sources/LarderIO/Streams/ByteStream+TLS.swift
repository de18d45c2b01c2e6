// SPDX-License-Identifier: Apache-2.0
import COpenSSL

extension ByteStream {
    /// Puts the stream under TLS as the client of `serverName`, a host's name or numeric address.
    ///
    /// Returns when the peer is verified. Throws `.certificateInvalid`, `.tlsFailed` or what reading and writing
    /// throw; after that the stream is good for `close` only. The deadline applies.
    package func startTLS(client context: TLSClientContext, serverName: String) async throws(IOError) {
        try await context.prepared()
        guard isOpen else { throw closedError("agree on TLS") }
        try await agree(TLSSession(try context.makeSession(for: serverName, on: descriptor), of: context))
    }

    /// Puts the stream under TLS as the server.
    package func startTLS(server context: TLSServerContext) async throws(IOError) {
        guard isOpen else { throw closedError("agree on TLS") }
        try await agree(TLSSession(try context.makeSession(on: descriptor), of: context))
    }

    /// How far a handshake got without a task.
    ///
    /// After `.isPlain`, the client has begun with HTTP instead, and the stream is a plain one again.
    package enum Agreement { case agreed, failed, needsTask, isPlain }

    /// Puts the stream under TLS as the server, and calls `body` on the loop, once: at once or when the client has
    /// said its part. After `.needsTask`, `goOnAgreeing` has to be called. The deadline applies.
    package func startTLS(server context: TLSServerContext, then body: @escaping (Agreement) -> Void) {
        guard isOpen, tls == nil, let ssl = try? context.makeSession(on: descriptor) else { return body(.failed) }
        tls = TLSSession(ssl, of: context)
        agree(then: body)
    }

    /// Continues a handshake that waits for room.
    package func goOnAgreeing() async throws(IOError) {
        guard let tls else { throw closedError("agree on TLS") }
        try await agree(with: tls)
    }

    private func agree(then body: @escaping (Agreement) -> Void) {
        while let tls {
            do throws(IOError) {
                if try tls.handshake(of: self) { return body(.agreed) }
            } catch {
                guard error.isPlainHTTP else { return body(.failed) }
                self.tls = nil
                return body(.isPlain)
            }
            guard tls.writeNeedsInput else { return body(.needsTask) }
            // Holds: a stream that is closed or gone does not call its watcher.
            if watch({ [unowned self] hasInput in hasInput ? agree(then: body) : body(.failed) }) { return }
            guard isReadable else { return body(.failed) }
        }
        body(.failed)
    }

    /// Puts the stream under TLS as the server that `leaf` is for.
    ///
    /// - Parameter early: what was read from the stream already.
    package func startTLS(
        server context: TLSServerContext, leaf: LeafCertificate, early: [UInt8]
    ) async throws(IOError) {
        guard isOpen else { throw closedError("agree on TLS") }
        let descriptor = descriptor
        let made = early.withUnsafeBytes { early in
            Result { () throws(IOError) in try context.makeSession(on: descriptor, leaf: leaf, early: early) }
        }
        try await agree(TLSSession(try made.get(), of: context, hasEarly: true))
    }

    private func agree(_ session: TLSSession) async throws(IOError) {
        // Holds: a connection agrees on TLS once, right after it was opened.
        precondition(tls == nil, "TLS has begun on this stream already")
        tls = session
        try await agree(with: session)
    }

    private func agree(with session: TLSSession) async throws(IOError) {
        while try !session.handshake(of: self) {
            try await waitToWrite("agree on TLS")
            guard isOpen else { throw closedError("agree on TLS") }
        }
    }

    /// True if the stream is under TLS.
    package var isSecure: Bool { tls != nil }

    /// True if the server asked for a certificate of ours, which we do not have.
    package var wasAskedForCertificate: Bool { tls.map { SSL_get_ex_data($0.ssl, 0) != nil } ?? false }

    /// True if the client has proved to hold a certificate that it was asked for.
    package var isProven: Bool {
        guard let ssl = tls?.ssl else { return false }
        return SSL_get0_peer_certificate(ssl) != nil && SSL_get_verify_result(ssl) == X509_V_OK
    }

    /// The client according to the certificate that it has proved to hold, if it was asked for one: a digest of subject
    /// and alternative names, so that a renewed certificate names the same client.
    package var provenIdentity: String? {
        guard let ssl = tls?.ssl, let certificate = SSL_get0_peer_certificate(ssl),
            SSL_get_verify_result(ssl) == X509_V_OK
        else { return nil }
        var digest = [UInt8](repeating: 0, count: 32)
        // Without memory for it the client is somebody whom nothing was stored for.
        guard larder_digest_names(certificate, &digest) == 1 else {
            return "certificate \(UInt64.random(in: 0 ... .max))"
        }
        return "certificate " + digest.hexadecimal
    }
}
