// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// Which blocks of configuration apply to a resource, and the changes that each of them makes.
enum ExplainedConfiguration {
    static func blocks(_ situation: Situation, method: LarderHTTP.Method? = nil) -> [Explanation.Block] {
        let method = method ?? situation.configuredMethod
        guard situation.service.base != nil else { return unclaimed(situation) }
        let set = situation.service.service.configurationSet
        let url = ResourceURL(situation.uri)
        var configuration = set.defaults
        return set.entries.filter { $0.applies(to: method) && $0.matches?(url) ?? true }.map { entry in
            let before = facts(of: configuration)
            entry.apply(&configuration)
            let after = facts(of: configuration)
            let changes = after.compactMap { fact -> String? in
                let old = before.first { $0.name == fact.name }?.value
                guard old != fact.value else { return nil }
                return "\(fact.name): \(fact.value)" + (old.map { " (was \($0))" } ?? "")
            }
            return Explanation.Block(title: entry.description, changes: changes)
        }
    }

    /// Unclaimed URLs have no blocks, only settings for all traffic.
    private static func unclaimed(_ situation: Situation) -> [Explanation.Block] {
        var configuration = Configuration()
        configuration.codings = situation.policy.codings
        guard !configuration.codings.isEmpty else { return [] }
        let codings = words(of: "codings", in: configuration)
        return [Explanation.Block(title: "all traffic", changes: ["codings: \(codings)"])]
    }

    /// The value of a block's setting in a configuration.
    static func words(of setting: String, in configuration: Configuration) -> String {
        SettingsCatalogue.configure.settings.first { $0.name == setting }?.explain?(configuration) ?? ""
    }

    /// The settings of a configuration, in the words of the configuration file.
    private static func facts(of configuration: Configuration) -> [(name: String, value: String)] {
        var facts = SettingsCatalogue.configure.settings.compactMap { setting in
            setting.explain.map { (name: setting.name, value: $0(configuration)) }
        }
        facts += ExplainedEffects.words(of: configuration) + programs(configuration)
        var names: Set<String> = []
        configuration.fields.set.forEachLine { _, spelling, _ in
            let name = String(decoding: spelling, as: UTF8.self)
            guard names.insert(name.lowercased()).inserted else { return }
            // Configured request fields are often credentials under a name of their own.
            facts.append(("headers.\(name)", "set"))
        }
        for name in configuration.fields.removed.sorted(by: { $0.canonical < $1.canonical }) {
            facts.append(("headers.\(name)", "removed"))
        }
        return facts
    }

    /// The settings that only programs have.
    private static func programs(_ configuration: Configuration) -> [(name: String, value: String)] {
        let stages = configuration.pipeline.order.filter { configuration.pipeline[$0].cache != nil }
        return [
            ("privacy", configuration.privacy.rawValue),
            ("mutateRequests", String(configuration.mutators.count)),
            ("decorateRequests", String(configuration.decorators.count)),
            ("onAbandon", configuration.onAbandon.delay.map { "cancel after \(UnitText.write($0))" } ?? "go on"),
            ("cacheUsing", list(stages.map { "\($0)" })),
        ]
    }

    private static func list(_ words: [String]) -> String {
        words.isEmpty ? "nothing" : words.joined(separator: ", ")
    }
}
