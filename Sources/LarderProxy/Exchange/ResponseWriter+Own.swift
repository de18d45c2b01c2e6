// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// Short responses that Larder makes itself.
extension ResponseWriter {
    /// Answers with a problem.
    func respond(_ problem: Problem) async throws {
        if problem.closes { isPersistent = false }
        links = nil
        let (head, uri) = (request.head, request.uri)
        let format = ProblemFormat(for: head.fields)
        let instance = uri.isEmpty ? String(decoding: head.target.prefix(1024), as: UTF8.self) : uri.string
        let local = stream.localAddress
        let authority = local.isLoopback ? "localhost:\(local.port)" : "\(local)"
        let home = local.port == 0 ? "/" : "\(stream.isSecure ? "https" : "http")://\(authority)/"
        let text = Array(problem.content(as: format, instance: instance, home: home).utf8)
        var fields = problem.fields
        fields[.date] = context.dateText()
        fields[.contentType] = format.mediaType
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        if format == .html { fields[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'" }
        fields[.proxyStatus] = problem.proxyStatus
        recordFailure(problem)
        startHead(status: problem.status, fields: fields)
        finishHead(length: Int64(text.count), cacheStatus: record.cacheStatus)
        try await sendContent([ContentChunk(text)])
    }

    /// Answers as configured, without a lookup or a request to the origin.
    func respond(_ answer: HardWiredAnswer, by service: RoutedService) async throws {
        record.kind = .own
        record.cacheStatus = CacheStatus(.unused, detail: "hard-wired")
        switch answer {
        case .refusal(let rule, let reading): throw Problem.denied(rule, as: reading)
        case .response(let rule):
            var fields: Fields = ["Date": context.dateText()]
            let hasContent = !rule.status.isSentEmpty
            let content = hasContent ? Array((rule.body.reveal(service.variables) ?? "").utf8) : []
            if !content.isEmpty { fields[.contentType] = "text/plain; charset=utf-8" }
            for edit in rule.fields { fields[edit.name] = edit.value?.reveal(service.variables) }
            startHead(status: rule.status, fields: fields)
            finishHead(length: Int64(content.count), cacheStatus: record.cacheStatus)
            try await sendContent([ContentChunk(content)])
        }
    }
}

extension ResponseWriter {
    /// Interim responses are relayed to HTTP/1.1 clients as they arrive; `100` is answered by reading content instead.
    func relayInterim(_ interim: ResponseHead) async throws {
        if let message = interimMessage(interim) { try await interims.send(message) }
    }

    /// The same for a client whose task is waiting for something else: bytes the kernel does not accept are sent with
    /// the next write.
    func relayInterimAtOnce(_ interim: ResponseHead) {
        if let message = interimMessage(interim) { interims.sendAtOnce(message) }
    }

    /// An interim response as bytes; nil when it is not for this client.
    private func interimMessage(_ interim: ResponseHead) -> [UInt8]? {
        guard request.traits.version == .http11, interim.status != 100, interim.status != 101 else { return nil }
        var fields = interim.fields
        HopByHop.strip(&fields, for: .forwardResponse)
        let table = context.configuration.router.table
        fields = request.mapped(fields, by: table.named(record.service) ?? table.unclaimed)
        var message: [UInt8] = []
        PreparedHead.appendStatusLine(interim.status, to: &message)
        PreparedHead.append(fields, to: &message)
        PreparedHead.appendLineEnd(to: &message)
        return message
    }
}
