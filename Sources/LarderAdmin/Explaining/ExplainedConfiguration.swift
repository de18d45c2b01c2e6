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
        let codings = situation.policy.codings
        guard !codings.isEmpty else { return [] }
        return [Explanation.Block(title: "all traffic", changes: ["codings: \(words(codings))"])]
    }

    private static func words(_ codings: [ServedCoding]) -> String {
        codings.isEmpty ? "as it came" : codings.map(\.rawValue).joined(separator: ", ")
    }

    /// The settings of a configuration, in the words of the configuration file.
    private static func facts(of configuration: Configuration) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = [
            ("expirationTime", expiration(configuration)),
            ("retryTime", UnitText.write(configuration.retryTime)),
            ("staleWhileRevalidate", UnitText.write(configuration.staleWhileRevalidate)),
            ("staleIfError", UnitText.write(configuration.staleIfError)),
            ("ignoreRequest", words(configuration.ignoredRequest)),
            ("ignoreResponse", words(configuration.ignoredResponse)),
            ("everyone", configuration.ignoredResponse.isForEveryone ? "true" : "false"),
            ("cache", configuration.caching == .none ? "none" : "default"),
            ("history", String(configuration.history)),
            ("offline", configuration.isOffline ? "on" : configuration.isOfflineWhenUnreachable ? "auto" : "off"),
            ("reloadOnRecovery", configuration.reloadsOnRecovery ? "true" : "false"),
            ("refreshAhead", configuration.refreshAhead.text),
            ("keyedByContent", configuration.isKeyedByContent ? "true" : "false"),
            ("keyedContentLimit", ByteCount(configuration.keyedContentLimit).description),
            ("codings", words(configuration.codings)),
            ("ignoreContent", list(configuration.ignoredMembers)),
            ("streamEnd", configuration.streamEnds.isEmpty ? "any end" : list(configuration.streamEnds)),
            ("replay", configuration.replaysPaced ? "paced" : "immediate"),
            ("links", configuration.mapsLinks ? "true" : "false"),
            ("followRedirects", configuration.followsRedirects ? "true" : "false"),
            ("privacy", configuration.privacy.rawValue),
        ]
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
            ("mutateRequests", String(configuration.mutators.count)),
            ("decorateRequests", String(configuration.decorators.count)),
            ("onAbandon", configuration.onAbandon.delay.map { "cancel after \(UnitText.write($0))" } ?? "go on"),
            ("cacheUsing", list(stages.map { "\($0)" })),
        ]
    }

    /// The time with its relation to the origin's lifetime; the time alone has no meaning.
    private static func expiration(_ configuration: Configuration) -> String {
        let time = UnitText.write(configuration.expirationTime)
        let statuses = configuration.expirationTimes.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { ", \($0.key.rawValue): \(UnitText.write($0.value))" }.joined()
        let all =
            switch configuration.expirationMode {
            case .heuristic: "as RFC 9111 says"
            case .fallback: "\(time) where the origin names none"
            case .cap: "\(time) at most"
            case .floor: "\(time) at least"
            case .override: "\(time) whatever the origin says"
            }
        return all + statuses
    }

    private static func words(_ ignored: IgnoredRequest) -> String {
        list([
            ignored.contains(.noCache) ? "no-cache" : nil, ignored.contains(.maxAge) ? "max-age" : nil,
            ignored.contains(.noStore) ? "no-store" : nil, ignored.contains(.pragma) ? "pragma" : nil,
        ])
    }

    private static func words(_ ignored: IgnoredResponse) -> String {
        let directives = ignored.directives
        return list([
            directives.contains(.noStore) ? "no-store" : nil, directives.contains(.isPrivate) ? "private" : nil,
            directives.contains(.noCache) ? "no-cache" : nil,
            directives.contains(.mustRevalidate) ? "must-revalidate" : nil,
            directives.contains(.setCookie) ? "set-cookie" : nil,
            ignored.vary.isEmpty ? nil : "vary: " + ignored.vary.map(\.spelling).sorted().joined(separator: " "),
        ])
    }

    private static func list(_ words: [String?]) -> String {
        let words = words.compactMap(\.self)
        return words.isEmpty ? "nothing" : words.joined(separator: ", ")
    }
}
