// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Proxy {
    /// Finds the subject of a URL: an origin's (`https://api.github.com/users/a`), a path of the gateway
    /// (`/github/users/a`), or the gateway's whole URL (`http://localhost:3128/github/users/a`).
    ///
    /// - Parameter fields: of the hypothetical request; `Host` is overridden.
    package func subject(of text: String) throws(Problem) -> ResourceSubject {
        let content = text.firstIndex(of: "#").flatMap { ContentMark(text[text.index(after: $0)...]) }
        let text = text.prefix { $0 != "#" }
        guard text.utf8.count <= TargetURI.lengthLimit else {
            throw .noSubject("it is longer than \(TargetURI.lengthLimit) octets")
        }
        var head = RequestHead(method: .get, target: String(text))
        head.fields[.host] = "localhost"
        if let (authority, path) = gatewayParts(of: text) {
            head.fields[.host] = String(authority)
            head.target = Array(path.utf8)
        } else if !text.hasPrefix("/"), !text.lowercased().hasPrefix("http://"),
            !text.lowercased().hasPrefix("https://")
        {
            throw .noSubject("‘\(text.prefix(200))’ is neither an http or https URL nor a path of the gateway")
        }
        var uri = TargetURI()
        var spelling: [UInt8] = []
        var host = KnownHost()
        var client = Router.Client(isLoopback: true, localHost: "localhost", localPort: 0)
        client.namesForwarded = true
        switch configuration.router.route(head, from: client, uri: &uri, spelling: &spelling, host: &host) {
        case .resource(let service, let form):
            return ResourceSubject(
                service: service, form: form, uri: uri, spelling: spelling, content: content,
                rewriting: configuration.router.rewriting(head, from: client))
        case .refused(let problem):
            throw problem.advice == Problem.correctIt
                ? Problem.noSubject(because: problem.detail)
                : Problem.noSubject(because: problem.detail, advice: problem.advice)
        case .larder: throw .noSubject("it is one of Larder's own pages")
        case .tunnel, .capabilities: throw .noSubject("it names no resource")
        }
    }

    /// The subjects of a change: the one `text` names, and, where it does not name a service, those under the same URL
    /// in each other service that may have stored something for it.
    package func subjects(of text: String) throws(Problem) -> [ResourceSubject] {
        let named = try subject(of: text)
        guard !named.form.namesService else { return [named] }
        let holders = configuration.router.table.holders(of: named.uri)
        return [named]
            + holders.filter { $0.number != named.service.number }.map {
                ResourceSubject(
                    service: $0, form: named.form, uri: named.uri, spelling: named.spelling, content: named.content)
            }
    }

    /// The subject that has `key`; nil where its service is gone.
    package func subject(of key: ResourceKey) -> ResourceSubject? {
        configuration.router.table.numbered(key.serviceNumber).flatMap { ResourceSubject(key, $0) }
    }

    /// Authority and path of a URL that leads to this Larder's own gateway.
    private func gatewayParts(of text: Substring) -> (authority: Substring, path: Substring)? {
        let prefix = "http://"
        guard text.lowercased().hasPrefix(prefix) else { return nil }
        let rest = text.dropFirst(prefix.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let parsed = Array(authority.utf8).withUnsafeBytes { try? Authority($0, defaultPort: 80) }
        guard let parsed, Router.isLoopbackName(parsed.host), addresses.contains(where: { $0.port == parsed.port })
        else {
            return nil
        }
        let path = rest.dropFirst(authority.count)
        return (authority, path.hasPrefix("/") ? path : "/" + path)
    }
}

extension Problem {
    static func noSubject(_ why: String) -> Problem { noSubject(because: "The URL cannot be used: \(why)") }

    /// - Parameter sentence: the reason, as a whole sentence.
    static func noSubject(
        because sentence: String,
        advice: String = "Name an origin's URL, as https://example.com/a, or a path of the gateway, as /service/a."
    ) -> Problem {
        Problem(
            status: 400, title: "Not a resource", proxyError: .httpRequestError, detail: sentence.withFullStop,
            advice: advice)
    }
}

extension Proxy {
    /// The authority to which CONNECT to `target` from this machine would lead, or why it is refused.
    package func tunnel(to target: String) -> Result<String, Problem> {
        var head = RequestHead(method: .connect, target: String(target.prefix(1024)))
        head.fields[.host] = "localhost"
        var (uri, spelling, host) = (TargetURI(), [UInt8](), KnownHost())
        let client = Router.Client(isLoopback: true, localHost: "localhost", localPort: 0)
        switch configuration.router.route(head, from: client, uri: &uri, spelling: &spelling, host: &host) {
        case .tunnel(let authority): return .success("\(authority.host):\(authority.port)")
        case .refused(let problem): return .failure(problem)
        case .resource, .larder, .capabilities:
            return .failure(.noSubject("‘\(target.prefix(200))’ is no host and port"))
        }
    }
}
