// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderProxy

extension Explanation {
    var json: JSONValue {
        var object: JSONObject = [
            "method": .string(method.token),
            "url": .string(url),
            "outcome": .string(outcome),
            "decision": .string(decision.word),
            "reason": decision.reason.map { .string($0) } ?? .null,
            "cacheStatus": cacheStatus.map { .string($0) } ?? .null,
            "request": .strings(fields),
            "service": Explanation.json(service),
            "blocks": .array(blocks.map { ["block": .string($0.title), "changes": .strings($0.changes)] }),
            "effects": Explanation.json(effects),
            "key": Explanation.json(key),
            "stored": .array(
                candidates.map { ["response": .string($0.text), "chosen": .bool($0.isChosen), "why": .string($0.why)] }),
            "freshness": Explanation.json(freshness),
        ]
        object["storage"] = [
            "about": .string(storageSubject),
            "conditions": .array(
                storage.map { condition in
                    [
                        "condition": .string(condition.name), "met": .bool(condition.isMet),
                        "field": condition.field.map { .string($0) } ?? .null, "meaning": .string(condition.meaning),
                    ]
                }),
        ]
        object["notes"] = .strings(notes)
        object["toChangeThat"] = .strings(advice)
        return .object(object)
    }

    private static func json(_ facts: [Fact]) -> JSONValue {
        .array(
            facts.map { fact in
                var object: JSONObject = ["name": .string(fact.name), "value": .string(fact.value)]
                if let seconds = fact.seconds { object["seconds"] = .seconds(seconds) }
                if let note = fact.note { object["note"] = .string(note) }
                return .object(object)
            })
    }

    /// The same for people.
    var text: String {
        var text = "\(method) \(Explanation.printable(url))\n"
        for field in fields { text += "    \(Explanation.printable(field))\n" }
        text += "\n\(outcome)\n"
        if let cacheStatus { text += "Cache-Status: \(cacheStatus)\n" }
        if !advice.isEmpty {
            text += "\nTo change that\n" + advice.map { "  - \(Explanation.printable($0))\n" }.joined()
        }
        if !notes.isEmpty {
            text += "\nRead with care\n" + notes.map { "  - \(Explanation.printable($0))\n" }.joined()
        }
        if !service.isEmpty { text += Explanation.section("Service", service) }
        if !service.isEmpty { text += "\nConfiguration\n" + (blocks.isEmpty ? "  none\n" : "") }
        for (index, block) in blocks.enumerated() {
            let changes = block.changes.isEmpty ? "changes nothing" : block.changes.joined(separator: "; ")
            text += "  \(index + 1). \(Explanation.printable("\(block.title): \(changes)"))\n"
        }
        if !effects.isEmpty { text += Explanation.section("Effects", effects) }
        if !key.isEmpty { text += Explanation.section("Key", key) + "\nStored\n" }
        if candidates.isEmpty, !key.isEmpty {
            text += isLookedUp ? "  nothing\n" : "  not looked up for such a request\n"
        }
        for candidate in candidates {
            text += "  \(candidate.isChosen ? "*" : "-") \(Explanation.printable(candidate.text))\n"
            text += "    \(candidate.isChosen ? "chosen" : "not chosen"): \(Explanation.printable(candidate.why))\n"
        }
        if !freshness.isEmpty { text += Explanation.section("Freshness", freshness) }
        if !storageSubject.isEmpty { text += "\nStorage: \(storageSubject)\n" }
        let width = storage.map(\.name.count).max() ?? 0
        for condition in storage {
            let gap = String(repeating: " ", count: width - condition.name.count)
            let field = condition.field.map { " (\(Explanation.printable($0)))" } ?? ""
            text += "  \(condition.isMet ? "yes" : "NO ")  \(condition.name)\(gap)  \(condition.meaning)\(field)\n"
        }
        return text
    }

    private static func section(_ title: String, _ facts: [Fact]) -> String {
        let width = facts.map(\.name.count).max() ?? 0
        return "\n\(title)\n"
            + facts.map { fact in
                let gap = String(repeating: " ", count: width - fact.name.count)
                return
                    "  \(fact.name)\(gap)  \(printable(fact.value))\(fact.note.map { "  (\(printable($0)))" } ?? "")\n"
            }.joined()
    }

    /// Text from messages stays on its line.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.isUnseen ? "?" : $0 }))
    }
}
