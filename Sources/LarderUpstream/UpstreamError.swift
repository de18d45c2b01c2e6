// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// Why an upstream did not answer, or not in valid HTTP.
package struct UpstreamError: Error, Sendable {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// Nil when the request was cancelled on our side, so that no client waits for an answer.
        package let type: ProxyStatus.ErrorType?
        /// The status for a waiting client.
        package let status: Status

        private init(_ type: ProxyStatus.ErrorType?, status: Status = 502) {
            self.type = type
            self.status = status
        }

        package var description: String { type?.rawValue ?? "aborted" }

        package static let dnsTimeout = Code(.dnsTimeout, status: 504)
        package static let dnsError = Code(.dnsError)
        package static let destinationUnavailable = Code(.destinationUnavailable, status: 503)
        package static let destinationProhibited = Code(.destinationIPProhibited, status: 403)
        package static let connectionRefused = Code(.connectionRefused)
        package static let connectionTerminated = Code(.connectionTerminated)
        package static let connectionTimeout = Code(.connectionTimeout, status: 504)
        package static let connectionLimit = Code(.connectionLimitReached, status: 503)
        package static let readTimeout = Code(.connectionReadTimeout, status: 504)
        package static let responseTimeout = Code(.httpResponseTimeout, status: 504)
        package static let responseIncomplete = Code(.httpResponseIncomplete)
        package static let headerSectionSize = Code(.httpResponseHeaderSectionSize)
        package static let protocolError = Code(.httpProtocolError)
        package static let tlsProtocol = Code(.tlsProtocolError)
        package static let tlsCertificate = Code(.tlsCertificateError)
        /// The origin would refuse it: a quota is used up.
        package static let requestDenied = Code(.httpRequestDenied, status: 429)
        package static let internalError = Code(.proxyInternalError)
        package static let configurationError = Code(.proxyConfigurationError)
        package static let aborted = Code(nil, status: 503)
    }

    package let code: Code
    /// The event, in words.
    package let detail: String
    /// A remedy.
    package let advice: String
    /// True if the connection ended before a single byte of response, so that an idempotent request may be repeated
    /// (RFC 9110 §9.2.2). The origin may still have processed the request.
    package let mayRetry: Bool
    /// The underlying error: an `IOError`, a `ParseError`, or nil.
    package let cause: (any Error)?
    /// Set when the request was held back rather than sent.
    package var hold: OriginHold?
    /// True if the origin cannot be asked in HTTP/1.1.
    package private(set) var isHTTP2Only = false
    /// True if the origin had yet to get the request's content, which the client had not sent.
    var isForWantOfContent = false

    package var status: Status { code.status }

    /// True if the origin could not be reached at all, rather than answered badly: then others need not try at once.
    package var isUnreachable: Bool {
        [
            .dnsTimeout, .dnsError, .destinationUnavailable, .connectionRefused, .connectionTimeout, .tlsProtocol,
            .tlsCertificate,
        ]
        .contains(code)
    }

    /// True if the origin was reached, and did not answer the request in HTTP: with another one it may be otherwise.
    package var isOfExchange: Bool { [.connectionTerminated, .protocolError, .headerSectionSize].contains(code) }

    package init(
        _ code: Code, _ detail: String, advice: String = "Try again; if it stays, ask the origin's owner.",
        mayRetry: Bool = false, cause: (any Error)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.advice = advice
        self.mayRetry = mayRetry
        self.cause = cause
    }
}

extension UpstreamError {
    /// An origin that refuses HTTP/1.1, or answers it with frames of HTTP/2.
    static func http2Only(_ place: String, _ code: Code, cause: (any Error)? = nil) -> UpstreamError {
        var error = UpstreamError(
            code, "\(place) speaks HTTP/2 only.",
            advice:
                "Larder asks origins in HTTP/1.1. Its clients reach this origin through a tunnel: in a lane, and where "
                + "https is intercepted, it is tunnelled from now on, so repeat the request there.", cause: cause)
        error.isHTTP2Only = true
        return error
    }
}

extension UpstreamError: CustomStringConvertible {
    package var description: String { "\(code): \(detail)" }
}
