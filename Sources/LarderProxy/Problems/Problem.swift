// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules
import LarderSettings

/// An error response made by Larder itself: what is wrong, where, and what to do next (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
    package var status: Status
    package var title: String
    /// The error type of RFC 9209.
    package var proxyError: ProxyStatus.ErrorType
    /// The finding and the expectation, for this one request. Never contains a secret of somebody else.
    package var detail: String
    /// The finding for the log, where `detail` may quote a response that is not for everybody.
    var publicDetail: String?
    /// The next step for the reader.
    package var advice: String
    /// Fields required by the status, such as `Allow` or `Retry-After`.
    package var fields: Fields
    /// True if the connection must close: the end of the request is unknown, or the next connection is treated otherwise.
    package var closes: Bool
    /// True if an origin was asked, or it was tried.
    var isOfOrigin = false

    package init(
        status: Status, title: String, proxyError: ProxyStatus.ErrorType, detail: String, advice: String,
        fields: Fields = [:], closes: Bool = false
    ) {
        self.status = status
        self.title = title
        self.proxyError = proxyError
        self.detail = detail
        self.advice = advice
        self.fields = fields
        self.closes = closes
    }
}

extension Problem {
    /// The advice where nothing better is known.
    static let correctIt = "Correct the request and send it again."

    static func badRequest(_ detail: String, advice: String = Problem.correctIt) -> Problem {
        Problem(
            status: 400, title: "Bad request", proxyError: .httpRequestError, detail: detail, advice: advice,
            closes: true)
    }

    static func misdirected(host: String) -> Problem {
        Problem(
            status: 421, title: "Misdirected request", proxyError: .httpRequestDenied,
            detail:
                "The request is addressed to \(host.isEmpty ? "no host" : "‘\(host)’"), which is not a name of this Larder.",
            advice: "Use http://localhost with Larder's port, http://<service>.localhost, or use Larder as a forward "
                + "proxy (http_proxy). Names of your own go into `gateway.hosts` in the configuration.")
    }

    /// - Parameters:
    ///   - services: the names and mounts of the services.
    ///   - leadsToAnyHost: whether the gateway leads this client to hosts without configuration.
    static func unknownPath(
        _ path: String, services: [(name: String, mount: String)], leadsToAnyHost: Bool
    ) -> Problem {
        let names = services.map(\.name).sorted()
        let list = names.joined(separator: ", ")
        let known = names.isEmpty ? "No services are configured." : "The services are: \(list)."
        let meant = meantPath(path, services: services, leadsToAnyHost: leadsToAnyHost)
        return Problem(
            status: 404, title: "No service here", proxyError: .httpRequestError,
            detail: "No service is mounted at \(path.prefix(200)). \(known)",
            advice: (meant.map { "Did you mean \($0)? " } ?? "")
                + (leadsToAnyHost
                    ? "Call /<service>/… at this address, or /https/<host>/… for a host without configuration."
                    : "Call /<service>/… at this address."))
    }

    /// The path that was probably meant: of one of Larder's own pages, of a service, or of a host.
    private static func meantPath(
        _ path: String, services: [(name: String, mount: String)], leadsToAnyHost: Bool
    ) -> String? {
        let path = path.prefix(200)
        let first = path.dropFirst().prefix { $0 != "/" }
        let rest = path.dropFirst(first.count + 1)
        if rest.isEmpty, ownPages.contains(first.lowercased()) { return "/-/\(first.lowercased())" }
        let near = Nearest.name(to: String(first), in: services.map(\.name))
        if let mount = services.first(where: { $0.name == near })?.mount { return mount + rest.drop { $0 == "/" } }
        return leadsToAnyHost ? gatewayPath(path) : nil
    }

    /// The names of the pages below `/-/` that people look for.
    private static let ownPages = [
        "status", "metrics", "health", "ready", "explain", "resources", "requests", "history", "events",
    ]

    /// The path of the gateway for a URL or a host that stands behind Larder's address, or where a host should.
    private static func gatewayPath(_ path: Substring) -> String? {
        var path = path
        for scheme in ["/https", "/http"] where path.lowercased().hasPrefix("\(scheme)/http") {
            path = path.dropFirst(scheme.count)
        }
        for scheme in ["https", "http"] where path.lowercased().hasPrefix("/\(scheme):") {
            let rest = path.dropFirst(scheme.count + 2).drop { $0 == "/" }
            return rest.isEmpty ? nil : "/\(scheme)/\(rest)" + (rest.contains("/") ? "" : "/")
        }
        let host = path.dropFirst().prefix { $0 != "/" }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isOfLabel) }),
            let end = labels.last, end.count > 1, end.allSatisfy(\.isLetter), !fileEndings.contains(String(end))
        else { return nil }
        return "/https\(path)" + (path.dropFirst().contains("/") ? "" : "/")
    }

    private static func isOfLabel(_ octet: UInt8) -> Bool {
        ASCII.isAlpha(octet) || ASCII.isDigit(octet) || octet == UInt8(ascii: "-")
    }

    /// The ends of file names, which browsers ask for unasked.
    private static let fileEndings = ["txt", "ico", "png", "html", "htm", "php", "xml", "json", "js", "css", "asp"]
}

/// The format of a problem, which depends on the client.
package enum ProblemFormat: Sendable {
    case json, text, html

    /// HTML for browsers, text for a terminal, else `application/problem+json`.
    package init(for fields: Fields) {
        switch AcceptedType.preferred(by: fields, inOrder: [.html, .problem, .json, .text]) {
        case .html: self = .html
        case .text: self = .text
        case nil where ProblemFormat.isTerminal(fields[.userAgent]): self = .text
        case .json, .problem, .openMetrics, nil: self = .json
        }
    }

    private static func isTerminal(_ agent: String?) -> Bool {
        let agent = agent?.lowercased() ?? ""
        return ["curl/", "wget/", "httpie/"].contains { agent.hasPrefix($0) }
    }

    package var mediaType: String {
        switch self {
        case .json: "application/problem+json"
        case .text: "text/plain; charset=utf-8"
        case .html: "text/html; charset=utf-8"
        }
    }
}

extension Problem {
    /// The value of `Proxy-Status`, with the beginning of the detail (RFC 9209 §2.1.6).
    package var proxyStatus: String {
        var details = detail.count > 200 ? detail.prefix(199) + "…" : detail
        for (typographic, plain) in [("‘", "'"), ("’", "'"), ("…", "...")] {
            details = details.replacing(typographic, with: plain)
        }
        return ProxyStatus(proxyError, details: details).member()
    }

    /// The content of the response.
    ///
    /// - Parameter home: the URL of Larder's own first page for this client.
    package func content(as format: ProblemFormat, instance: String, home: String = "/") -> String {
        switch format {
        case .json:
            """
            {"type":"about:blank","title":\(JSONText.string(title)),"status":\(status.rawValue),\
            "detail":\(JSONText.string(detail)),"advice":\(JSONText.string(advice)),"instance":\(JSONText.string(instance)),\
            "error":\(JSONText.string(proxyError.rawValue))}

            """
        case .text:
            "\(status.rawValue) \(title): \(detail)\n\(advice)\n"
        case .html:
            """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>\(status.rawValue) \(HTMLText.escaped(title))</title>
            <style>body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:4em auto;padding:0 1em}</style>
            <h1>\(status.rawValue) \(HTMLText.escaped(title))</h1>
            <p>\(HTMLText.sentence(detail))</p><p><b>What to do:</b> \(HTMLText.sentence(advice))</p>
            <p><a href="\(HTMLText.escaped(home))">Larder</a></p></html>

            """
        }
    }
}

extension Problem {
    /// The whole response on a connection that closes without examining a request.
    func farewell(date: String) -> [UInt8] {
        let text = content(as: .json, instance: "about:blank")
        let lines = [
            "HTTP/1.1 \(status.rawValue) \(status.phrase)", "Date: \(date)",
            "Content-Type: \(ProblemFormat.json.mediaType)",
            "Content-Length: \(text.utf8.count)", "Cache-Control: no-store",
            "Proxy-Status: \(proxyStatus)", "Connection: close", "", text,
        ]
        return Array(lines.joined(separator: "\r\n").utf8)
    }
}

/// JSON text of single values, for short texts that need no encoder.
package enum JSONText {
    package static func string(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case "<": out += "\\u003c"
            case _ where scalar.isUnseen:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}

package enum HTMLText {
    /// A sentence in which what stands between backticks is code.
    static func sentence(_ text: String) -> String {
        let parts = escaped(text).split(separator: "`", omittingEmptySubsequences: false)
        guard parts.count % 2 == 1 else { return escaped(text) }
        return parts.enumerated().map { $0 % 2 == 1 ? "<code>\($1)</code>" : String($1) }.joined()
    }

    package static func escaped(_ text: String) -> String {
        var out = ""
        for character in text {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#39;"
            default: out.append(character)
            }
        }
        return out
    }
}
