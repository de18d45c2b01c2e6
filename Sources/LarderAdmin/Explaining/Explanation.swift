// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// Why a request would be answered as it would be: the content of `/-/explain` and `larder explain`.
///
/// The rules that decide real requests are used here too, so that the explanation is correct.
struct Explanation: Sendable {
    /// One block of configuration that applies, and its changes.
    struct Block: Sendable, Equatable {
        var title: String
        var changes: [String]
    }

    /// One stored variant, and whether it was selected.
    struct Candidate: Sendable, Equatable {
        var text: String
        var isChosen: Bool
        var why: String
    }

    struct Fact: Sendable, Equatable {
        var name: String
        var value: String
        var note: String?
        /// The value as a number, where it is a duration.
        var seconds: Duration?
    }

    struct Condition: Sendable, Equatable {
        var name: String
        var isMet: Bool
        /// The field responsible, with its value where known.
        var field: String?
        var meaning: String
    }

    var method = LarderHTTP.Method.get
    var url: String
    var fields: [String]
    /// The outcome, in a sentence.
    var outcome: String
    /// The word for it, and the reason in the words of RFC 9211 or of the refusal.
    var decision: (word: String, reason: String?)
    /// The response's `Cache-Status`, as far as it is predictable.
    var cacheStatus: String?
    var service: [Fact]
    var blocks: [Block]
    /// Other effects on such requests and their responses: routes, decorators, pipelines.
    var effects: [Fact]
    var key: [Fact]
    var candidates: [Candidate]
    /// The arithmetic of age and lifetime; empty when no stored response matches.
    var freshness: [Fact]
    /// Contradictory, malformed or absurd fields, and how they were interpreted.
    var notes: [String]
    /// The subject of the conditions below.
    var storageSubject: String
    var storage: [Condition]
    /// True if stored responses matter for such a request.
    var isLookedUp = true
    /// How to get another outcome.
    var advice: [String]
}

extension Explanation {
    init(_ situation: Situation) {
        let policy = situation.policy
        let candidates = situation.variants.map(\.stored)
        isLookedUp = situation.passing == nil
        let selected = isLookedUp ? Reuse.select(situation.request, candidates, policy: policy) : nil
        let verdict = ExplainedDecision(situation, situation.plan)
        method = situation.method
        url = situation.url
        fields = ShownFields.lines(situation.request.fields).filter { !$0.lowercased().hasPrefix("host:") }
        outcome = verdict.outcome
        self.decision = (verdict.word, verdict.reason)
        cacheStatus = verdict.cacheStatus
        service = Explanation.service(situation)
        blocks = ExplainedConfiguration.blocks(situation)
        effects = ExplainedEffects.list(situation, selected: selected)
        key = Explanation.key(situation)
        self.candidates = isLookedUp ? ExplainedCandidates.list(situation, selected: selected) : []
        freshness = selected.map { ExplainedFreshness.facts(candidates[$0], situation) } ?? []
        notes = ExplainedNotes.list(situation, selected: selected)
        (storageSubject, storage) = ExplainedStorage.conditions(situation, selected: selected)
        advice =
            (verdict.advice
            + ExplainedEffects.advice(
                situation, selected: selected, asks: ["validate", "forward"].contains(verdict.word)))
            .map { $0.replacing(" URL`", with: " \(Explanation.quoted(situation.uri.string))`") }
    }

    /// A URL as a word for a shell.
    private static func quoted(_ url: String) -> String {
        let isPlain = url.utf8.allSatisfy { octet in
            (0x2B...0x3A).contains(octet) && octet != 0x2A || (0x41...0x5A).contains(octet)
                || (0x61...0x7A).contains(octet) || octet == UInt8(ascii: "_") || octet == UInt8(ascii: "%")
        }
        return isPlain ? url : "'" + url.replacing("'", with: "%27") + "'"
    }

    private static func service(_ situation: Situation) -> [Fact] {
        let service = situation.service
        guard let base = service.base else {
            return [
                Fact(name: "name", value: service.name, note: "no service claims this URL, so RFC 9111 alone decides")
            ] + form(situation)
        }
        let privacy = service.privacy(for: situation.uri)
        return [
            Fact(name: "name", value: service.name),
            Fact(name: "baseURL", value: base.string),
            Fact(name: "mount", value: service.settings.effectiveMount),
            Fact(name: "privacy", value: privacy.rawValue, note: note(privacy)),
        ] + preset(service) + ignoredQuery(service) + form(situation)
    }

    private static func preset(_ service: RoutedService) -> [Fact] {
        service.settings.preset.map { [Fact(name: "preset", value: $0)] } ?? []
    }

    private static func ignoredQuery(_ service: RoutedService) -> [Fact] {
        let names = service.settings.ignoreQuery.map(\.text)
        if names.isEmpty { return [] }
        return [
            Fact(
                name: "ignoreQuery", value: names.joined(separator: ", "),
                note: "query parameters that are left out of the URL")
        ]
    }

    private static func note(_ privacy: ServicePrivacy) -> String {
        switch privacy {
        case .shared: "one cache for everyone"
        case .partitioned: "a cache for each user that `identity` tells apart"
        case .private: "one user, whose private responses are kept too"
        }
    }

    /// For https a forward proxy only sees the destination.
    private static func form(_ situation: Situation) -> [Fact] {
        guard situation.form == .forward, situation.uri.scheme == .https else { return [] }
        return [
            Fact(
                name: "way", value: "not through CONNECT",
                note: "clients that tunnel https are opaque to the cache; the gateway's paths are not")
        ]
    }

    /// The source of the partition.
    private static func partition(_ situation: Situation) -> String? {
        let (service, fields) = (situation.service, situation.request.fields)
        guard service.privacy(for: situation.uri) == .partitioned else { return nil }
        let names = service.identification(in: fields, user: situation.user)
        let unnamed = situation.policy.identity?.unnamedCredential(in: fields).map {
            "; \($0.spelling) is not part of `identity`, so the rules of a shared cache hold for the response"
        }
        guard situation.partition.isOfUser else {
            return "nobody in particular, as nothing of the request is part of `identity`: "
                + "the rules of a shared cache hold" + (unnamed ?? "")
                + (situation.user == nil && situation.policy.identity?.parts?.contains(.user) == true
                    ? "; `larder explain --user NAME` tells what a user gets" : "")
        }
        return "a digest of \(names.joined(separator: ", "))"
            + (names.contains("client") ? ", the client being at \(Situation.client)" : "") + (unnamed ?? "")
    }

    private static func key(_ situation: Situation) -> [Fact] {
        let service = situation.service
        let isPartition = situation.partition != .shared
        var facts = [
            Fact(name: "service", value: service.name),
            Fact(
                name: "partition", value: isPartition ? String(situation.partition.name.prefix(12)) + "…" : "everyone",
                note: partition(situation)),
            Fact(
                name: "url", value: situation.url,
                note: situation.content != nil
                    ? "with method and digest of the request's content"
                    : situation.url == situation.uri.string
                        ? nil : "as it was written: its escapes are not those of the normal form"),
        ]
        if situation.isPinned {
            facts.append(
                Fact(name: "pinned", value: "yes", note: "eviction leaves what is stored; `larder unpin` ends it"))
        }
        let names = Set(situation.variants.flatMap { $0.stored.variance.selectors.map(\.name.description) }).sorted()
        if !names.isEmpty {
            facts.append(
                Fact(
                    name: "vary", value: names.joined(separator: ", "),
                    note: "the stored responses differ by these fields"))
        }
        return facts
    }
}

/// Oddities of the request and the stored response, each with the section of the RFC that resolves it, and why nothing
/// newer is stored.
enum ExplainedNotes {
    static func list(_ situation: Situation, selected: Int?) -> [String] {
        var notes = ReadingNote.notes(onRequest: situation.request.fields).map { line($0, "the request's ") }
        // While it keeps requests from the origin, the decision itself says so.
        if let failure = situation.failure,
            failure.recent(for: situation.request)?.isRecent(at: situation.now) != true
        {
            notes.append("the last load failed at \(ISOTime.string(failure.at)): \(failure.error)")
        }
        if !situation.ignoredWishes.isEmpty {
            notes.append(
                "the request's \(situation.ignoredWishes.joined(separator: ", ")) is not heeded, and not forwarded "
                    + "(ignoreRequest)")
        }
        if let selected, let ignored = situation.variants[selected].stored.facts.ignored {
            notes.append("of the response, the configuration has \(ignored) (ignoreResponse)")
        }
        if let selected {
            let stored = situation.variants[selected].stored
            notes += ReadingNote.notes(
                onResponse: stored.fields, receivedAt: stored.responseTime, policy: situation.policy
            ).map { line($0, "") }
        } else if let unstored = situation.unstored, situation.isRead, unstored.reason != .condition(.redirect) {
            // The directives of a response to a redirect that is not kept are Larder's own.
            notes += ReadingNote.notes(
                onResponse: unstored.fields, receivedAt: unstored.at, policy: situation.policy
            ).map { line($0, "") }
        }
        return notes
    }

    private static func line(_ note: ReadingNote, _ whose: String) -> String {
        "\(whose)\(note.field) \(note.text) (\(note.source))"
    }
}
