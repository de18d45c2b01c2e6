// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO

extension UpstreamError {
    /// A failure while connecting.
    static func connecting(_ error: IOError, to place: String) -> UpstreamError {
        let (code, detail, advice) = reason(error, place)
        return UpstreamError(code, detail, advice: advice, cause: error)
    }

    /// An origin that accepted the connection, but did not agree on TLS in the time to connect.
    static func silentHandshake(_ error: IOError, with origin: Origin) -> UpstreamError {
        UpstreamError(
            .connectionTimeout, "\(origin) accepted the connection, but did not answer the TLS handshake in time.",
            advice: "Check that the port is one for https, or raise `timeouts.connect`.", cause: error)
    }

    /// An origin to which no connection could be opened in the time for the whole request.
    static func silentWhileConnecting(_ origin: Origin) -> UpstreamError {
        UpstreamError(
            .connectionTimeout, "No connection to \(origin) could be opened in the time that a request may take.",
            advice: "Try again, or raise `timeouts.upstream`.")
    }

    /// The host of an origin or authority.
    private static func host(in place: String) -> Substring {
        let authority = place.firstRange(of: "://").map { place[$0.upperBound...] } ?? place[...]
        guard let colon = authority.lastIndex(of: ":"), authority.last != "]" else { return authority }
        return authority[..<colon]
    }

    private static func reason(_ error: IOError, _ place: String) -> (Code, String, String) {
        switch error.code {
        case .nameNotFound:
            (.dnsError, "The host \(host(in: place)) does not exist.", "Check the host's spelling.")
        case .nameServerFailure:
            (.dnsError, "\(place): \(error.detail)", "Check the machine's name servers and its network.")
        case .lookupTimedOut:
            (.dnsTimeout, "The name servers did not answer for \(place) in time.", "Check the machine's name servers.")
        case .timedOut:
            (
                .connectionTimeout, "\(place) did not accept the connection in time.",
                "Check the network, or raise `timeouts.connect`."
            )
        case .refused:
            (.connectionRefused, "\(place) refused the connection.", "Check that it is up, and its port.")
        case .connectionReset, .closed:
            (
                .connectionTerminated, "\(place) closed the connection before it was established.",
                "Check the port, and whether it is one for http or for https."
            )
        case .unreachable:
            (.destinationUnavailable, "There is no way to \(place).", "Check the network.")
        case .permissionDenied:
            (prohibited(place).code, prohibited(place).detail, prohibited(place).advice)
        case .certificateInvalid:
            (
                .tlsCertificate, "\(place): \(error.detail.withFullStop)",
                "Check the certificate; `upstream.caFile` adds trust in a private authority."
            )
        case .tlsFailed:
            (.tlsProtocol, "\(place): \(error.detail.withFullStop)", "Check that the port speaks TLS 1.2 or later.")
        case .descriptorsExhausted, .overloaded:
            (
                .connectionLimit, "No connection to \(place) can be opened: \(error.detail.withFullStop)",
                "Raise the limit on open files."
            )
        default:
            (.destinationUnavailable, "\(place): \("\(error)".withFullStop)", "Check the network.")
        }
    }

    /// The rules about addresses forbid the address.
    static func prohibited(_ place: String) -> UpstreamError {
        UpstreamError(
            .destinationProhibited, "The address of \(place) is one that this client may not reach.",
            advice: "Clients on this machine may; others need a service whose base URL has the address, or https.")
    }

    /// A response arrived on a reused connection while the request was still being sent.
    static func answeredTooEarly(_ origin: Origin) -> UpstreamError {
        UpstreamError(
            .protocolError, "\(origin) sent a response before it had the request.",
            advice: "Report it to the origin's owner.", mayRetry: true)
    }

    /// A part of what was asked for as a whole, where nothing can be made of a part.
    package static func partOfWhole(from origin: Origin) -> UpstreamError {
        UpstreamError(
            .protocolError, "\(origin) sent a part (206) of what was asked for as a whole, which the pipeline needs.",
            advice: "Report it to the origin's owner, or leave the pipeline out for this URL.")
    }

    /// A failure while the request was sent or the response read.
    static func reading(
        _ error: IOError, from origin: Origin, isHeadComplete: Bool, hasAnswered: Bool, lacksCertificate: Bool = false
    ) -> UpstreamError {
        if lacksCertificate, !isHeadComplete, !hasAnswered, error.code != .timedOut {
            return UpstreamError(
                .connectionTerminated,
                "\(origin) asked for a client certificate, got none, and closed the connection without answering.",
                advice: "Name one in `tls.certificate` and `tls.key` of its service.",
                mayRetry: error.code != .tlsFailed, cause: error)
        }
        switch error.code {
        case .timedOut:
            return UpstreamError(
                isHeadComplete ? .readTimeout : .responseTimeout, "\(origin) has been silent for too long.",
                advice: "Try again, or raise `timeouts.upstream`.", cause: error)
        case .tlsFailed:
            // It could be reached: what it has against this request need not be so with others.
            return UpstreamError(
                isHeadComplete ? .responseIncomplete : .connectionTerminated,
                "\(origin): \(error.detail.withFullStop)", cause: error)
        default: break
        }
        if isHeadComplete {
            return UpstreamError(.responseIncomplete, "\(origin) broke off its response.", cause: error)
        }
        return UpstreamError(
            .connectionTerminated,
            hasAnswered
                ? "\(origin) broke off before its response had begun in earnest."
                : "\(origin) closed the connection without answering.",
            mayRetry: !hasAnswered, cause: error)
    }

    /// A response that is not HTTP/1.1.
    static func malformed(_ error: ParseError, from place: some CustomStringConvertible) -> UpstreamError {
        if error.code == .contentCutShort {
            return UpstreamError(.responseIncomplete, "\(place) ended its response early.", cause: error)
        }
        let limit: String? =
            switch error.code {
            case .headerSectionTooLarge: "limits.headSize"
            case .tooManyFieldLines: "limits.fieldLines"
            default: nil
            }
        return UpstreamError(
            limit == nil ? .protocolError : .headerSectionSize,
            "The response of \(place) was refused: \(error.code.sentence)",
            advice: (limit.map { "Raise `\($0)`, or report" } ?? "Report") + " it to the origin's owner.", cause: error)
    }

    /// A parent that refuses a tunnel.
    static func tunnelRefused(by parent: ParentAddress, to authority: String, _ status: Status) -> UpstreamError {
        let detail = "\(parent) answered \(status) instead of a tunnel to \(authority)."
        if status == 407 { return authorizationLacks(detail) }
        return UpstreamError(.destinationUnavailable, detail, advice: "Ask who runs the parent proxy.")
    }

    /// A parent that wants to know who asks: a 407 is about the connection to it, and would mean another one to a client.
    static func forwardingRefused(by parent: ParentAddress, to origin: Origin) -> UpstreamError {
        authorizationLacks("\(parent) answered 407 instead of asking \(origin).")
    }

    /// True if a name server or a parent proxy has said so: others can be reached then.
    var isAnswer: Bool {
        if let cause = cause as? IOError { return cause.code == .nameNotFound }
        // Only a parent's has no cause.
        return code == .destinationUnavailable
    }

    /// True if this machine lacks the network, rather than the way to one host: a client can name as many hosts as it likes
    /// that do not answer, or whose name servers fail.
    var isLocal: Bool { [ENETUNREACH, ENETDOWN].contains((cause as? IOError)?.errno) }

    private static func authorizationLacks(_ detail: String) -> UpstreamError {
        UpstreamError(.configurationError, detail, advice: "Give the parent proxy's user and password in its URL.")
    }

    static func tooManyWait(for origin: Origin) -> UpstreamError {
        UpstreamError(
            .connectionLimit, "Too many requests wait for a connection to \(origin).",
            advice: "Raise `limits.upstreamConnections`, or ask less.")
    }

    static func waitedTooLong(for origin: Origin) -> UpstreamError {
        UpstreamError(
            .connectionLimit, "No connection to \(origin) became free in time.",
            advice: "Raise `limits.upstreamConnections`, or ask less.")
    }

    package static var aborted: UpstreamError {
        UpstreamError(
            .aborted, "The request to the origin was cancelled before it was answered.",
            advice: "Send it again if it is still wanted.")
    }

    /// Request content that differs from its announced length.
    static func content(_ detail: String) -> UpstreamError { UpstreamError(.internalError, detail) }
}
