// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

extension Exchange {
    /// Answers as configured, without a lookup or a request to the origin.
    func respond(_ answer: HardWiredAnswer, by service: RoutedService) async throws {
        record.kind = .own
        record.cacheStatus = CacheStatus(.unused, detail: "hard-wired")
        switch answer {
        case .refusal(let rule): throw Problem.denied(rule)
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
