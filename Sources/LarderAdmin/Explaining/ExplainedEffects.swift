// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// The effects of the configuration besides lifetimes: the route that rewrote the URL, the decorators of requests to
/// the origin, and transformations of its responses.
enum ExplainedEffects {
    static func list(_ situation: Situation, selected: Int?) -> [Explanation.Fact] {
        let configuration = situation.configuration.frozen.configuration
        let decorators = situation.service.configuration(for: situation.uri, method: situation.method).decorators
        return route(situation) + around(decorators) + pipeline(configuration, situation, selected: selected)
            + afterWrite(configuration, situation) + replay(situation, selected: selected)
            + ahead(situation, selected: selected) + history(situation) + sharing(situation)
    }

    /// The versions that are kept of what is stored.
    private static func history(_ situation: Situation) -> [Explanation.Fact] {
        let count = situation.configuration.history
        guard situation.isRead, count > 0, situation.configuration.caches else { return [] }
        return [Explanation.Fact(name: "history", value: "\(count)", note: "superseded responses are kept on disk")]
    }

    /// How to avoid the effects.
    ///
    /// - Parameter asks: whether the origin would be asked.
    static func advice(_ situation: Situation, selected: Int?, asks: Bool) -> [String] {
        var advice: [String] = []
        let isRendition = selected.map { situation.variants[$0] }.map { $0.rendition != nil && !$0.isOverride } ?? false
        if situation.configuration.mayTransform, isRendition {
            advice.append("To get what the origin sent: `serve: raw` in a later configure block.")
        }
        let decorators = situation.service.configuration(for: situation.uri, method: situation.method).decorators
        if asks, decorators?.delay != nil {
            advice.append(
                "To have the origin asked without waiting: `decorate: { delay: 0 }` in a later configure block.")
        }
        if asks, decorators?.retry != nil {
            advice.append("To hear of failures at once: `decorate: { retry: null }` in a later configure block.")
        }
        if let rewriting = situation.rewriting {
            advice.append(
                "To have the URL taken as it is written: take the entry \(rewriting.place + 1) of `routes` out of "
                    + "`\(situation.service.name)`.")
        }
        return advice
    }

    private static func sharing(_ situation: Situation) -> [Explanation.Fact] {
        guard let key = situation.sharedKey else { return [] }
        let value = key == nil ? "this URL is not shared" : "other daemons are asked before the origin"
        return [Explanation.Fact(name: "sharedCache", value: value, note: key)]
    }

    // MARK: Routes

    private static func route(_ situation: Situation) -> [Explanation.Fact] {
        guard let rewriting = situation.rewriting else { return [] }
        let rule = rewriting.rule
        let query = rule.query.map { edit in
            switch edit {
            case .set(let name, let value): "\(name) set to \(value)"
            case .add(let name, let value): "\(name) set to \(value) where it is missing"
            case .remove(let name): "\(name) removed"
            }
        }
        let path = "\(rule.from.text)\(rule.to.map { " becomes \($0.text)" } ?? "")"
        return [
            Explanation.Fact(
                name: "routes[\(rewriting.place)]", value: ([path] + query).joined(separator: ", "),
                note: "it was \(rewriting.original)")
        ]
    }

    // MARK: Decorators

    private static func around(_ decorators: Decorators?) -> [Explanation.Fact] {
        guard let decorators else { return [] }
        let notes = [
            "decorate.deny": "every such request is refused", "decorate.respond": "every such request is answered so",
            "decorate.delay": "each request to the origin is held back; hits are not",
            "decorate.retry": "requests to the origin, once for all who wait",
            "decorate.refreshToken": "the credential is renewed once for all, and the request made again",
        ]
        return words(of: decorators).map { Explanation.Fact(name: $0.name, value: $0.value, note: notes[$0.name]) }
    }

    /// The answer given without a lookup, and how to change it.
    static func hardWired(_ answer: HardWiredAnswer, _ situation: Situation) -> (outcome: String, advice: [String]) {
        let (name, status) =
            switch answer {
            case .refusal(let rule, _): ("deny", rule.status)
            case .response(let rule): ("respond", rule.status)
            }
        let title = ExplainedConfiguration.blocks(situation, method: situation.method).last { block in
            block.changes.contains { $0.hasPrefix("decorate.\(name):") && !$0.hasPrefix("decorate.\(name): none") }
        }?.title
        var place = title.map { " of the configure block ‘\($0)’" } ?? ""
        if case .refusal(_, let reading?) = answer { place += " for ‘\(reading)’, for which origins may take it," }
        return (
            "It would be answered \(status.rawValue), as `decorate.\(name)`\(place) says; nothing is looked up, and the "
                + "origin is not asked.",
            [
                "Take `\(name)` out of that block, or say `decorate: { \(name): null }` in a later one that is for this "
                    + "resource."
            ]
        )
    }

    // MARK: Pipelines

    private static func pipeline(
        _ configuration: Configuration, _ situation: Situation, selected: Int?
    ) -> [Explanation.Fact] {
        guard situation.configuration.mayTransform else { return [] }
        var facts = configuration.pipeline.order.compactMap { key -> Explanation.Fact? in
            let transformers = configuration.pipeline[key].transformers.map(\.transformerDescription)
            guard !transformers.isEmpty else { return nil }
            return Explanation.Fact(name: "pipeline.\(key.name)", value: transformers.joined(separator: ", then "))
        }
        facts.append(
            Explanation.Fact(name: "serve", value: ExplainedConfiguration.words(of: "serve", in: configuration)))
        guard let selected else { return facts }
        let variant = situation.variants[selected]
        guard !variant.isOverride else { return facts }
        let current = situation.configuration.fingerprint
        if variant.fingerprint != current {
            facts.append(
                Explanation.Fact(
                    name: "transformed", value: "not by today's configuration",
                    note: "it would be made again of what is stored, if the pipeline accepts that; the origin is "
                        + "not asked"))
        } else if variant.rendition != nil {
            let tag = variant.served.facts.eTag.map { ", with the tag \($0)" } ?? ""
            facts.append(
                Explanation.Fact(
                    name: "transformed", value: "yes\(tag)",
                    note: "kept with what the origin sent, by whose validators the origin is asked"))
        } else {
            facts.append(
                Explanation.Fact(
                    name: "transformed", value: "no", note: "no transformer has to do with this response"))
        }
        return facts
    }

    // MARK: Streams

    private static func replay(_ situation: Situation, selected: Int?) -> [Explanation.Fact] {
        guard let pace = selected.flatMap({ situation.variants[$0].pace }) else { return [] }
        guard situation.configuration.replaysPaced else {
            return [Explanation.Fact(name: "replay", value: "immediate", note: "all of the stream is sent at once")]
        }
        let steps = pace.steps
        let length = UnitText.write(steps.last?.due ?? .zero)
        return [
            Explanation.Fact(
                name: "replay", value: "paced: \(length), in \(steps.count) parts",
                note: "parts of it (`Range`) at once")
        ]
    }

    // MARK: Refreshing ahead

    private static func ahead(_ situation: Situation, selected: Int?) -> [Explanation.Fact] {
        let ahead = situation.configuration.refreshAhead
        guard situation.isRead, ahead != .off else { return [] }
        var note = "nothing is planned before it is loaded"
        if let wait = situation.aheadWait {
            note = "it is looked at in \(UnitText.write(.seconds(wait.wholeSeconds)))"
        } else if let selected {
            let eligibility = AheadEligibility.decide(
                situation.variants[selected], of: situation.url,
                isOfUser: situation.partition
                    != situation.service.partition(of: Fields(), for: situation.uri, from: .machine),
                isKeyedByContent: situation.content != nil, sent: nil, policy: situation.configuration.policy,
                configured: situation.configuration.frozen.configuration.fields)
            note = "nothing is planned before it is loaded again"
            if case .ineligible(let reason) = eligibility { note = words(of: reason) }
        }
        return [Explanation.Fact(name: "refreshAhead", value: ahead.text, note: note)]
    }

    private static func words(of reason: AheadEligibility.Reason) -> String {
        switch reason {
        case .notRepeatable: "not for this: it is an error, a part, an override, or the answer to one request alone"
        case .keyedByContent: "not for this: the content of its request is not kept"
        case .ofOneUser: "not for this: it is one user's"
        case .credentials: "not for this: it came, or may have come, with a client's credentials"
        }
    }

    // MARK: Writes

    private static func afterWrite(_ configuration: Configuration, _ situation: Situation) -> [Explanation.Fact] {
        guard !situation.isRead, !situation.method.isSafe, situation.hardWiredAnswer == nil else { return [] }
        return [
            Explanation.Fact(
                name: "afterWrite", value: ExplainedConfiguration.words(of: "afterWrite", in: configuration),
                note: "if the origin says that it succeeded")
        ]
    }

    // MARK: In the words of the configuration file

    /// The settings that a block may change, each with a placeholder where it is unset.
    static func words(of configuration: Configuration) -> [(name: String, value: String)] {
        let decorators = words(of: configuration.attachment as? Decorators ?? Decorators())
        let pipeline = configuration.pipeline.order.compactMap { key -> String? in
            let transformers = configuration.pipeline[key].transformers.map(\.transformerDescription)
            return transformers.isEmpty ? nil : "\(key.name): \(transformers.joined(separator: ", then "))"
        }
        let known = Dictionary(uniqueKeysWithValues: decorators.map { ($0.name, $0.value) })
        return ["deny", "respond", "delay", "retry", "refreshToken"].map { name in
            ("decorate.\(name)", known["decorate.\(name)"] ?? "none")
        } + [
            ("pipeline", pipeline.isEmpty ? "none" : pipeline.joined(separator: "; "))
        ]
    }

    private static func words(of decorators: Decorators) -> [(name: String, value: String)] {
        var words: [(name: String, value: String)] = []
        switch decorators.answer {
        case .refusal(let rule, _): words.append(("decorate.deny", "\(rule.status.rawValue)"))
        case .response(let rule): words.append(("decorate.respond", "\(rule.status.rawValue)"))
        case nil: break
        }
        if let delay = decorators.delay { words.append(("decorate.delay", UnitText.write(delay))) }
        if let retry = decorators.retry {
            let causes = retry.on.map { cause in
                switch cause {
                case .unreachable: "unreachable"
                case .status(let status): "\(status.rawValue)"
                }
            }
            words.append(
                (
                    "decorate.retry",
                    "up to \(retry.attempts) attempts, the second after \(UnitText.write(retry.backoff)), on "
                        + causes.joined(separator: ", ")
                ))
        }
        if let refresh = decorators.refresh {
            let statuses = refresh.onStatus.map { "\($0.rawValue)" }.joined(separator: ", ")
            let names = refresh.store.map(\.variable).joined(separator: ", ")
            words.append(
                ("decorate.refreshToken", "on \(statuses), \(refresh.method) \(refresh.url.text) for \(names)"))
        }
        return words
    }
}
