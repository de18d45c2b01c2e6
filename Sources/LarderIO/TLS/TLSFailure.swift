// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Glibc

/// Converts OpenSSL's error state to an `IOError` that says what exactly went wrong.
enum TLSFailure {
    /// The error of the last call on `ssl`, which ended with `kind` according to SSL_get_error.
    static func last(_ operation: String, on ssl: OpaquePointer, kind: Int32, errno number: Int32) -> IOError {
        let code = ERR_peek_error()
        defer { ERR_clear_error() }
        if kind == SSL_ERROR_SYSCALL, code == 0 {
            return number == 0 ? truncated(operation) : IOError(errno: number, operation: operation)
        }
        // The queue may begin with the cause of a failed verification, rather than with the failure itself.
        guard SSL_get_verify_result(ssl) == Int(X509_V_OK) else { return certificate(operation, on: ssl) }
        let reason = ERR_GET_REASON(code)
        switch reason {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return truncated(operation)
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG:
            return failed(operation, reason, "the peer does not speak TLS here; check scheme and port")
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_VERSION_TOO_LOW:
            return failed(operation, reason, "the peer speaks no version of TLS from 1.2 on")
        default: return failed(operation, reason, text(code))
        }
    }

    /// The error for a setup call that left its reason in OpenSSL's queue.
    static func setup(_ operation: String, _ hint: String) -> IOError {
        let code = ERR_peek_error()
        defer { ERR_clear_error() }
        return IOError(
            .tlsFailed, operation: operation, detail: code == 0 ? hint : "\(hint) (\(text(code)))")
    }

    /// The connection ended without TLS's end: the content may be truncated (RFC 8446 §6.1).
    private static func truncated(_ operation: String) -> IOError {
        IOError(.connectionReset, operation: operation, detail: "the connection ended without TLS's close_notify")
    }

    private static func failed(_ operation: String, _ reason: Int32, _ detail: String) -> IOError {
        IOError(.tlsFailed, errno: reason, operation: operation, detail: detail)
    }

    private static func certificate(_ operation: String, on ssl: OpaquePointer) -> IOError {
        let result = Int32(SSL_get_verify_result(ssl))
        let detail =
            switch result {
            case X509_V_ERR_CERT_HAS_EXPIRED: "its certificate has expired; have it renewed, and check this clock"
            case X509_V_ERR_CERT_NOT_YET_VALID: "its certificate is not valid yet; check this machine's clock"
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
                "its certificate is for another host; check the name"
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
                X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_SIGNATURE_FAILURE:
                "its certificate is from an issuer this machine does not trust; add the issuer if it should"
            default: String(cString: X509_verify_cert_error_string(Int(result)))
            }
        return IOError(.certificateInvalid, errno: result, operation: operation, detail: detail)
    }

    private static func text(_ code: UInt) -> String {
        ERR_reason_error_string(code).map { String(cString: $0) } ?? "OpenSSL error \(code)"
    }
}

extension IOError {
    /// True if a client has begun a handshake with a request in plain HTTP.
    var isPlainHTTP: Bool {
        code == .tlsFailed && [SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST].contains(errno)
    }

    /// True if the peer ended the handshake because it supports none of the offered protocols (RFC 7301 §3.2).
    package var isProtocolRefusal: Bool {
        code == .tlsFailed && errno == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL
    }

    /// True if a client has ended the handshake because it does not trust our certificate (RFC 8446 §6.2).
    package var isCertificateRefusal: Bool {
        guard code == .tlsFailed else { return false }
        return [
            SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
            SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
        ].contains(errno)
    }
}
