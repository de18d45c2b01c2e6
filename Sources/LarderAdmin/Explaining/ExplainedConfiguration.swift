// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy

/// Which blocks of configuration apply to a resource, and what each of them changes.
enum ExplainedConfiguration {
    static func blocks(_ situation: Situation) -> [Explanation.Block] {
        let set = situation.service.service.configurationSet
        let url = ResourceURL(situation.uri)
        var configuration = set.defaults
        return set.entries.filter { ($0.methods?.contains(.get) ?? true) && $0.matches(url) }.map { entry in
            let before = facts(of: configuration)
            entry.apply(&configuration)
            let after = facts(of: configuration)
            let changes = after.filter { fact in before.first { $0.name == fact.name }?.value != fact.value }
            return Explanation.Block(title: entry.description, changes: changes.map { "\($0.name): \($0.value)" })
        }
    }

    /// What a configuration says, in the words of the configuration file.
    private static func facts(of configuration: Configuration) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = [
            ("expirationTime", UnitText.write(configuration.expirationTime)),
            ("mode", configuration.expirationMode.rawValue),
            ("retryTime", UnitText.write(configuration.retryTime)),
            ("staleWhileRevalidate", UnitText.write(configuration.staleWhileRevalidate)),
            ("staleIfError", UnitText.write(configuration.staleIfError)),
            ("cache", configuration.caching == .none ? "none" : "default"),
            ("offline", configuration.isOffline ? "yes" : "no"),
            ("privacy", configuration.privacy.rawValue),
        ]
        var names: Set<String> = []
        configuration.fields.set.forEachLine { _, spelling, _ in
            let name = String(decoding: spelling, as: UTF8.self)
            guard names.insert(name.lowercased()).inserted else { return }
            // What configuration sends to an origin is often a credential under some name of its own.
            facts.append(("headers.\(name)", "set"))
        }
        for name in configuration.fields.removed.sorted(by: { $0.canonical < $1.canonical }) {
            facts.append(("headers.\(name)", "removed"))
        }
        return facts
    }

}
