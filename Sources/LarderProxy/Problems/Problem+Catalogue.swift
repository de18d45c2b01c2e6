// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

extension Problem {
    /// A request that is not HTTP/1.1 as RFC 9112 defines it.
    static func malformed(_ error: ParseError) -> Problem {
        Problem(
            status: error.status, title: error.status.phrase, proxyError: .httpRequestError,
            detail: "The request was refused: \(error.code.sentence) (\(error.code.name))",
            advice: advice(against: error), closes: true)
    }

    private static func advice(against error: ParseError) -> String {
        switch error.code {
        case .headerSectionTooLarge: "Send fewer or shorter fields, or raise `limits.headSize`."
        case .tooManyFieldLines: "Send fewer fields, or raise `limits.fieldLines`."
        case .malformedTarget: "Percent-encode what may not stand in a URL, as `ü` by `%C3%BC`; Larder repairs nothing."
        case .targetTooLong: "Send a shorter URL, or raise `limits.targetLength`."
        default: "Send the request as RFC 9112 defines it; Larder repairs nothing."
        }
    }

    static let slowHead = Problem(
        status: 408, title: "Request timeout", proxyError: .httpRequestError,
        detail: "The request head did not arrive in time.",
        advice: "Send the whole head at once, or raise `timeouts.head`.", closes: true)

    static func loop(pseudonym: String) -> Problem {
        Problem(
            status: 508, title: "Loop detected", proxyError: .proxyLoopDetected,
            detail: "The request has been through this Larder already: its Via field names ‘\(pseudonym)’.",
            advice: "Look for a proxy setting or a service's baseURL that leads back to Larder.")
    }

    static func hostNotAllowed(_ host: String, service: String) -> Problem {
        Problem(
            status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
            detail: "‘\(host)’ is not a host of the service ‘\(service)’.",
            advice: "Add the host to the service's `allowHosts` if its resources may be there.")
    }

    static let traceRefused = Problem(
        status: 405, title: "Method not allowed", proxyError: .httpRequestDenied,
        detail: "TRACE is not passed on: it would show credentials to whoever asks.",
        advice: "Use GET with `Cache-Control: no-cache` to see what an origin answers.",
        fields: ["Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT"])

    /// OPTIONS with `Max-Forwards: 0`: the answer of the last recipient.
    static let lastHop = Problem(
        status: 200, title: "OK", proxyError: .httpRequestDenied, detail: "Max-Forwards is 0: this is Larder.",
        advice: "Leave Max-Forwards out to reach the origin.",
        fields: traceRefused.fields)

    static let ownContentTooLarge = Problem(
        status: 413, title: "Content too large", proxyError: .httpRequestError,
        detail: "Requests to Larder itself carry at most 1 MiB.", advice: "Send less.", closes: true)

    static func notForwarded(to authority: String) -> Problem {
        Problem(
            status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
            detail: "‘\(authority)’ is under no service's base URL, and this Larder forwards to no other host.",
            advice: "Describe the host as a service, or set `forward.anyHost: true`.")
    }

    static let noGatewayToAnyHost = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "This gateway leads to no host but its services'.",
        advice: "Describe the host as a service, or set `gateway.anyHost: true`.")

    static let anyHostFromAfar = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "The gateway to any host serves clients on this machine only.",
        advice: "Describe the host as a service in Larder's configuration.")

    static func noHostLabel(_ label: Substring) -> Problem {
        .badRequest(
            "‘\(label.prefix(80))’ stands for no host.",
            advice: "Write https://api.example.com as https--api-example-com, a hyphen as two, and a port as in "
                + "https-8443--api-example-com; or use /https/<host>/….")
    }

    static let hiddenDotSegments = Problem.badRequest(
        "The path hides a ‘..’, which some origins would take for a way out of where it begins.",
        advice: "Write the path that is meant, without ‘..’ beside an encoded slash, a backslash or a semicolon.")

    static func noTunnel(toPort port: UInt16) -> Problem {
        Problem(
            status: 403, title: "Tunnel refused", proxyError: .httpRequestDenied,
            detail: "CONNECT to port \(port) is not allowed.",
            advice: "Add the port to `tunnels.ports` in Larder's configuration if it should be.")
    }

    static func noTunnel(to authority: Authority) -> Problem {
        Problem(
            status: 403, title: "Tunnel refused", proxyError: .httpRequestDenied,
            detail: "‘\(authority)’ is no service's host and port, and this Larder leads to no other.",
            advice: "Describe the host as a service, or set `forward.anyHost` and `gateway.anyHost` to true.")
    }

    static let noTunnelToMachine = Problem(
        status: 403, title: "Tunnel refused", proxyError: .httpRequestDenied,
        detail: "CONNECT to this machine is not allowed.",
        advice: "Set `tunnels.loopback: true` in Larder's configuration if it should be.")

    static let adminOnly = Problem(
        status: 421, title: "Misdirected request", proxyError: .httpRequestDenied,
        detail: "Only Larder's own pages are served here.",
        advice: "Use one of the addresses in `listen` as the proxy.",
        closes: true)

    static let tunnelLimit = Problem(
        status: 503, title: "Too many tunnels", proxyError: .connectionLimitReached,
        detail: "As many tunnels are open as `limits.tunnels` allows.", advice: "Close some, or raise the limit.")

    static let connectionLimit = Problem(
        status: 503, title: "Too many connections", proxyError: .connectionLimitReached,
        detail: "As many client connections are open as `limits.connections` allows.",
        advice: "Close some, or raise the limit.", closes: true)

    static let clientConnectionLimit = Problem(
        status: 429, title: "Too many connections", proxyError: .connectionLimitReached,
        detail: "As many connections from this address are open as `limits.clientConnections` allows.",
        advice: "Close some, or raise the limit.",
        fields: ["Retry-After": "1"], closes: true)

    static let clientRequestLimit = Problem(
        status: 429, title: "Too many requests", proxyError: .connectionLimitReached,
        detail: "As many requests from this address wait for origins as `limits.clientRequests` allows.",
        advice: "Send fewer at once, or raise the limit.",
        fields: ["Retry-After": "1"])

    static let clientNotAllowed = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "Larder does not serve clients at this address.",
        advice: "Add the address to `access.allow` in Larder's configuration if it should.", closes: true)

    static func preconditionFailed(by field: FieldName) -> Problem {
        Problem(
            status: 412, title: "Precondition failed", proxyError: .httpRequestError,
            detail: "The stored representation does not meet the request's \(field).",
            advice: "Get the resource anew and use its current ETag.")
    }

    static let storedContentLost = Problem(
        status: 502, title: "Stored content lost", proxyError: .proxyInternalError,
        detail: "The stored content could not be read whole; it has been given up.",
        advice: "Send the request again: it goes to the origin. Larder's log says what happened to the store.")

    static let storedContentUnavailable = Problem(
        status: 503, title: "Stored content not readable", proxyError: .proxyInternalError,
        detail: "The stored content could not be read just now; it is still stored.",
        advice: "Send the request again. Larder's log says why the store could not read.")

    static func notStored(_ why: RefusalReason, uri: TargetURI) -> Problem {
        Problem(
            status: 504, title: "Not stored", proxyError: .httpRequestDenied,
            detail:
                "There is no stored response that may answer this request for \(uri.string.prefix(500)) (\(why.rawValue)).",
            advice: "Leave out `only-if-cached` (`--stored` of `larder get`), or go online, to ask the origin.")
    }

    /// A failure between Larder and the upstream.
    package init(upstream error: any Error, place: String) {
        if let failure = error as? PipelineFailure {
            self = failure.problem
            isOfOrigin = true
            return
        }
        if error is StoreUnavailable {
            self = .storedContentUnavailable
            return
        }
        guard let error = error as? UpstreamError else {
            self.init(
                status: 502, title: "Bad gateway", proxyError: .proxyInternalError,
                detail: "The request to \(place) did not end: \("\(error)".withFullStop)",
                advice: "Send the request again.")
            isOfOrigin = true
            return
        }
        self.init(
            status: error.status, title: error.status.phrase, proxyError: error.code.type ?? .proxyInternalError,
            detail: error.detail, advice: error.advice)
        if let hold = error.hold { fields[.retryAfter] = String(hold.seconds) }
        isOfOrigin = error.hold == nil
        // An intercepted client's next connection is a tunnel.
        closes = error.isHTTP2Only
    }

    /// Says that no origin was asked for this: it failed before, and is left alone until `retryAt`.
    mutating func repeats(_ failure: LoadFailure, at now: Timestamp) {
        let rest = (failure.retryAt - now).secondsRoundedUp
        detail += " That was at \(ISOTime.string(failure.at)), and it is asked again in \(rest) s (`retryTime`)."
        fields[.retryAfter] = String(rest)
        isOfOrigin = false
    }

    /// - Parameter reading: the URL that the rule refuses, where that is another than the requested one.
    static func denied(_ rule: DenyRule, as reading: String?) -> Problem {
        Problem(
            status: rule.status, title: "Denied", proxyError: .httpRequestDenied,
            detail: rule.message + (reading.map { " Origins may take this URL for ‘\($0.prefix(200))’." } ?? ""),
            advice: "A `decorate.deny` of Larder's configuration says so; `larder explain` names the block.")
    }
}
