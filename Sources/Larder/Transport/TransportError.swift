// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderIO
import LarderUpstream

/// Why a request got no complete response.
public struct TransportError: Error, Sendable {
    /// The kind of failure. Open: treat unknown ones like `.other`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The kind's name, for most of them the proxy error type of RFC 9209 §2.3.
        public let description: String

        init(_ name: String) { description = name }

        /// The host's name does not exist, or could not be resolved.
        public static let nameResolution = Code("dns_error")
        /// The host refused the connection.
        public static let connectionRefused = Code("connection_refused")
        /// The host is unreachable.
        public static let unreachable = Code("destination_unavailable")
        /// The connection ended before the response had arrived.
        public static let connectionLost = Code("connection_terminated")
        /// The response began and did not end properly.
        public static let responseIncomplete = Code("http_response_incomplete")
        /// Something took longer than the options allow.
        public static let timedOut = Code("timeout")
        /// The peer violates the TLS protocol.
        public static let tls = Code("tls_protocol_error")
        /// The peer's certificate is not trusted.
        public static let certificate = Code("tls_certificate_error")
        /// The response is not HTTP.
        public static let malformed = Code("http_protocol_error")
        /// A redirection that is not followed.
        public static let redirect = Code("redirect")
        /// The content is longer than the options allow.
        public static let contentTooLarge = Code("content_too_large")
        /// The options, or the environment, are invalid.
        public static let configuration = Code("configuration")
        /// A file could not be read or written.
        public static let file = Code("file")
        /// Anything else.
        public static let other = Code("other")
    }

    /// The kind of failure.
    public let code: Code
    /// The event, as a sentence.
    public let detail: String
    /// A possible remedy; empty when none is known.
    public let advice: String
    /// The requested URL; nil when there was no request.
    public let url: TargetURI?

    /// Makes an error.
    public init(_ code: Code, _ detail: String, advice: String = "", url: TargetURI? = nil) {
        self.code = code
        self.detail = detail
        self.advice = advice
        self.url = url
    }
}

extension TransportError: CustomStringConvertible {
    public var description: String { advice.isEmpty ? detail : "\(detail) \(advice)" }
}

extension TransportError {
    /// Converts an error to the library's type.
    init(_ error: UpstreamError, url: TargetURI) {
        let code: Code =
            switch error.code {
            case .dnsError, .dnsTimeout: .nameResolution
            case .connectionRefused: .connectionRefused
            case .destinationUnavailable, .destinationProhibited, .connectionLimit: .unreachable
            case .connectionTerminated: .connectionLost
            case .responseIncomplete: .responseIncomplete
            case .connectionTimeout, .readTimeout, .responseTimeout: .timedOut
            case .tlsProtocol: .tls
            case .tlsCertificate: .certificate
            case .protocolError, .headerSectionSize: .malformed
            case .configurationError: .configuration
            default: .other
            }
        // The rest of the advice is about the daemon's settings.
        let advice =
            switch code {
            case .certificate: "Check the certificate; `caFile` of the transport's options adds trust in an authority."
            case .connectionRefused: "Check that it is up, and its port."
            case .nameResolution: "Check the host's spelling, and the machine's name servers."
            default: ""
            }
        self.init(code, error.detail, advice: advice, url: url)
    }

    /// A failed operation on a file.
    static func file(_ path: String, _ operation: String, _ error: IOError) -> TransportError {
        TransportError(.file, "\(path) could not be \(operation): \(error.detail).")
    }
}

/// In a daemon, decorators see the errors of its own requests.
extension UpstreamError: TransientFailure {
    var isTransient: Bool {
        switch code {
        case .configurationError, .tlsCertificate, .destinationProhibited: false
        default: true
        }
    }
}

extension TransportError: TransientFailure {
    /// True if the same request may succeed another time.
    var isTransient: Bool {
        switch code {
        case .configuration, .certificate, .redirect, .contentTooLarge, .file: false
        default: true
        }
    }
}
