// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// Why an upstream did not answer, or not in valid HTTP.
package struct UpstreamError: Error, Sendable {
    /// The kind of failure, in the words of RFC 9209 §2.3. Open: treat unknown ones like `.internalError`.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The proxy error type.
        package let description: String
        /// The status for a waiting client.
        package let status: Status

        package init(_ name: String, status: Status = 502) {
            description = name
            self.status = status
        }

        package static let dnsTimeout = Code("dns_timeout", status: 504)
        package static let dnsError = Code("dns_error")
        package static let destinationUnavailable = Code("destination_unavailable", status: 503)
        package static let destinationProhibited = Code("destination_ip_prohibited", status: 403)
        package static let connectionRefused = Code("connection_refused")
        package static let connectionTerminated = Code("connection_terminated")
        package static let connectionTimeout = Code("connection_timeout", status: 504)
        package static let connectionLimit = Code("connection_limit_reached", status: 503)
        package static let readTimeout = Code("connection_read_timeout", status: 504)
        package static let responseTimeout = Code("http_response_timeout", status: 504)
        package static let responseIncomplete = Code("http_response_incomplete")
        package static let headerSectionSize = Code("http_response_header_section_size")
        package static let protocolError = Code("http_protocol_error")
        package static let tlsProtocol = Code("tls_protocol_error")
        package static let tlsCertificate = Code("tls_certificate_error")
        /// The origin would refuse it: a quota is used up.
        package static let requestDenied = Code("http_request_denied", status: 429)
        package static let internalError = Code("proxy_internal_error")
        package static let configurationError = Code("proxy_configuration_error")
        /// Not in the RFC: the request was cancelled on our side, so no client waits for an answer.
        package static let aborted = Code("aborted")
    }

    package let code: Code
    /// The event, in words.
    package let detail: String
    /// A remedy.
    package let advice: String
    /// Whether the connection ended before a single octet of response, so that an idempotent request may be repeated
    /// (RFC 9110 §9.2.2). The origin may have processed it all the same.
    package let mayRetry: Bool
    /// The underlying error: an `IOError`, a `ParseError`, or nil.
    package let cause: (any Error)?
    /// Set when the request was held back rather than sent.
    package var hold: OriginHold?

    package var status: Status { code.status }

    /// Whether the origin could not be reached at all, rather than answered badly: then others need not try at once.
    package var isUnreachable: Bool {
        [
            .dnsTimeout, .dnsError, .destinationUnavailable, .connectionRefused, .connectionTimeout, .tlsProtocol,
            .tlsCertificate,
        ]
        .contains(code)
    }

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

extension UpstreamError: CustomStringConvertible {
    package var description: String { "\(code): \(detail)" }
}
