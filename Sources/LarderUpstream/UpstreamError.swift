// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// Why an upstream did not answer, or not as HTTP asks.
package struct UpstreamError: Error, Sendable {
    /// The kind of failure, in the words of RFC 9209 §2.3. Open: treat one you do not know like `.internalError`.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The proxy error type.
        package let description: String
        /// The status a waiting client gets.
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
        package static let internalError = Code("proxy_internal_error")
    }

    package let code: Code
    /// What happened, in words.
    package let detail: String
    /// What to do about it.
    package let advice: String
    /// Whether the request may not have reached the origin, so that sending it again does no harm.
    package let mayRetry: Bool

    package var status: Status { code.status }

    /// Whether the origin could not be reached at all, rather than answered badly: then others need not try at once.
    package var isUnreachable: Bool {
        [.dnsTimeout, .dnsError, .destinationUnavailable, .connectionRefused, .connectionTimeout, .tlsProtocol, .tlsCertificate]
            .contains(code)
    }

    package init(_ code: Code, _ detail: String, advice: String = "Try again; if it stays, ask the origin's owner.", mayRetry: Bool = false) {
        self.code = code
        self.detail = detail
        self.advice = advice
        self.mayRetry = mayRetry
    }
}

extension UpstreamError: CustomStringConvertible {
    package var description: String { "\(code): \(detail)" }
}

extension UpstreamError {
    /// A failure before the connection stood.
    static func connecting(_ error: IOError, to place: String) -> UpstreamError {
        switch error.code {
        case .nameNotFound:
            UpstreamError(.dnsError, "The name of \(place) does not exist.", advice: "Check the host's spelling.")
        case .nameServerFailure:
            UpstreamError(.dnsError, "\(place): \(error.detail)", advice: "Check the machine's name servers and its network.")
        case .refused:
            UpstreamError(.connectionRefused, "\(place) refused the connection.", advice: "Check that the origin is up, and its port.")
        case .timedOut:
            UpstreamError(.connectionTimeout, "\(place) did not accept the connection in time.", advice: "Check the network, or raise `timeouts.connect`.")
        case .unreachable:
            UpstreamError(.destinationUnavailable, "There is no way to \(place).", advice: "Check the network.")
        case .permissionDenied:
            UpstreamError(
                .destinationProhibited, "The address of \(place) is one that this client may not reach.",
                advice: "Clients on this machine may; others need the host to be a service's.")
        case .certificateInvalid:
            UpstreamError(.tlsCertificate, "\(place): \(error.detail)", advice: "Check the certificate; `upstream.caFile` adds trust in a private authority.")
        case .tlsFailed:
            UpstreamError(.tlsProtocol, "\(place): \(error.detail)", advice: "Check that the port speaks TLS 1.2 or later.")
        case .descriptorsExhausted, .overloaded:
            UpstreamError(.connectionLimit, "No connection to \(place) can be opened: \(error.detail).", advice: "Raise the limit on open files.")
        default:
            UpstreamError(.destinationUnavailable, "\(place): \(error)")
        }
    }

    /// A failure while reading the response.
    static func reading(_ error: IOError, from origin: Origin, isHeadComplete: Bool) -> UpstreamError {
        if error.code == .timedOut {
            return UpstreamError(
                isHeadComplete ? .readTimeout : .responseTimeout, "\(origin) has been silent for too long.",
                advice: "Try again, or raise `timeouts.upstream`.")
        }
        return isHeadComplete
            ? UpstreamError(.responseIncomplete, "\(origin) broke off its response.")
            : UpstreamError(.connectionTerminated, "\(origin) closed the connection without answering.", mayRetry: true)
    }

    /// A response that is not HTTP/1.1.
    static func malformed(_ error: ParseError, from origin: Origin) -> UpstreamError {
        let isTooLarge = error.code == .headerSectionTooLarge || error.code == .tooManyFieldLines
        return UpstreamError(
            isTooLarge ? .headerSectionSize : .protocolError,
            "The response of \(origin) was refused: \(error.code.sentence)", advice: "Report it to the origin's owner.")
    }
}
