// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import LarderSettings

extension Exchange {
    /// The configured answer to every such request; HEAD has its own.
    func hardWiredAnswer(of service: RoutedService, _ configuration: EffectiveConfiguration) -> HardWiredAnswer? {
        let own = traits.method == .head ? service.configuration(for: uri, method: .head) : configuration
        return context.configuration.router.table.hardWiredAnswer(to: uri, method: head.method, of: service, own)
    }

    /// Answers as configured, without a lookup or a request to the origin.
    func respond(_ answer: HardWiredAnswer, by service: RoutedService) async throws {
        record.kind = .own
        record.cacheStatus = CacheStatus(.unused, detail: "hard-wired")
        switch answer {
        case .refusal(let rule, let reading): throw Problem.denied(rule, as: reading)
        case .response(let rule):
            var fields: Fields = ["Date": context.dateText()]
            let hasContent = !rule.status.hasNoContent
            let content = hasContent ? Array((rule.body.reveal(service.variables) ?? "").utf8) : []
            if !content.isEmpty { fields[.contentType] = "text/plain; charset=utf-8" }
            for edit in rule.fields { fields[edit.name] = edit.value?.reveal(service.variables) }
            startHead(status: rule.status, fields: fields)
            finishHead(length: Int64(content.count), cacheStatus: record.cacheStatus)
            try await sendHead(with: content.isEmpty ? [] : [ContentChunk(content)])
        }
    }
}
