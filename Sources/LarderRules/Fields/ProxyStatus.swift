// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The error on the way to the origin, as a member of `Proxy-Status` (RFC 9209).
package struct ProxyStatus: Sendable, Hashable {
    /// RFC 9209 §2.3; the raw values are its words.
    package enum ErrorType: String, Sendable, Hashable, CaseIterable {
        case dnsTimeout = "dns_timeout"
        case dnsError = "dns_error"
        case destinationNotFound = "destination_not_found"
        case destinationUnavailable = "destination_unavailable"
        case destinationIPProhibited = "destination_ip_prohibited"
        case destinationIPUnroutable = "destination_ip_unroutable"
        case connectionRefused = "connection_refused"
        case connectionTerminated = "connection_terminated"
        case connectionTimeout = "connection_timeout"
        case connectionReadTimeout = "connection_read_timeout"
        case connectionWriteTimeout = "connection_write_timeout"
        case connectionLimitReached = "connection_limit_reached"
        case tlsProtocolError = "tls_protocol_error"
        case tlsCertificateError = "tls_certificate_error"
        case tlsAlertReceived = "tls_alert_received"
        case httpRequestError = "http_request_error"
        case httpRequestDenied = "http_request_denied"
        case httpResponseIncomplete = "http_response_incomplete"
        case httpResponseHeaderSectionSize = "http_response_header_section_size"
        case httpResponseHeaderSize = "http_response_header_size"
        case httpResponseBodySize = "http_response_body_size"
        case httpResponseTrailerSectionSize = "http_response_trailer_section_size"
        case httpResponseTrailerSize = "http_response_trailer_size"
        case httpResponseTransferCoding = "http_response_transfer_coding"
        case httpResponseContentCoding = "http_response_content_coding"
        case httpResponseTimeout = "http_response_timeout"
        case httpUpgradeFailed = "http_upgrade_failed"
        case httpProtocolError = "http_protocol_error"
        case proxyInternalResponse = "proxy_internal_response"
        case proxyInternalError = "proxy_internal_error"
        case proxyConfigurationError = "proxy_configuration_error"
        case proxyLoopDetected = "proxy_loop_detected"
    }

    package var error: ErrorType?
    /// The status that the next hop sent.
    package var receivedStatus: Status?
    /// For people; never anything the client could not know anyway.
    package var details: String?

    package init(_ error: ErrorType? = nil, receivedStatus: Status? = nil, details: String? = nil) {
        self.error = error
        self.receivedStatus = receivedStatus
        self.details = details
    }

    /// The member as text.
    package func member() -> String {
        var octets: [UInt8] = []
        appendMember(to: &octets)
        return String(decoding: octets, as: UTF8.self)
    }

    /// Writes the member, with the name of the proxy first.
    package func appendMember(to octets: inout [UInt8]) {
        octets.append("Larder")
        if let error {
            octets.append("; error=")
            octets.append(error.rawValue)
        }
        if let receivedStatus {
            octets.append("; received-status=")
            octets.append(decimal: Int64(receivedStatus.rawValue))
        }
        if let details {
            octets.append("; details=")
            StructuredText.append(string: details, to: &octets)
        }
    }
}
