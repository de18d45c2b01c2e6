// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

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
            // Behind a redirect that is not kept, the directives are Larder's own.
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
