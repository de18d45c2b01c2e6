// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP

/// What a stream of events is about, and how it is worded.
package struct EventSubject: Sendable {
    /// Streams with the same name are about the same and get the same octets.
    package let name: String
    package let scope: Scope
    /// Whether small contents go along.
    package let hasContent: Bool
    package let text: any EventText
    /// Which exchanges are told of as well; nil for none.
    package var requests: (@Sendable (RequestNote) -> Bool)?

    package enum Scope: Sendable {
        /// One URL: its state as everyone shares it, and what happens to it in any partition. Who watches it is
        /// interested in its loads (T-15).
        case resource(ResourceSubject)
        /// All resources for which it is true.
        case matching(@Sendable (ResourceChange) -> Bool)
    }

    package init(name: String, scope: Scope, hasContent: Bool, text: any EventText) {
        self.name = name
        self.scope = scope
        self.hasContent = hasContent
        self.text = text
    }

    /// Where changes of one URL are looked up; nil when every change has to be asked about.
    var exactKey: EventKey? {
        guard case .resource(let subject) = scope else { return nil }
        return EventKey(service: subject.service.number, url: subject.url)
    }

    /// The one Resource that is watched, as everyone shares it; made if there is none, so that it stays while it is
    /// watched. nil for a pattern.
    func resource(in registry: Registry) -> Resource? {
        guard case .resource(let subject) = scope else { return nil }
        return registry.resource(for: subject.key(in: .shared)) { key in
            subject.service.makeResource(key: key, partition: .shared, url: subject.uri)
        }
    }
}

/// One URL of a service, whatever the partition.
struct EventKey: Hashable, Sendable {
    var service: UInt32
    var url: String
}

/// Puts events into words: whole events of a stream (HTML, Server-sent events), as octets.
package protocol EventText: Sendable {
    func event(_ change: ResourceChange, withContent: Bool, now: Timestamp) -> [UInt8]

    /// An exchange that is over.
    func event(_ note: RequestNote) -> [UInt8]

    /// What a new subscriber is told first, and one that has missed something.
    ///
    /// - Parameter resource: the one that is watched; nil to have those found that match.
    func snapshot(of subject: EventSubject, _ resource: Resource?, in proxy: Proxy) async -> EventSnapshot

    /// The last event of a stream that this side ends.
    var farewell: [UInt8] { get }
}

/// The state of what a stream is about.
package struct EventSnapshot: Sendable {
    package let octets: ContentChunk
    /// The number of the last change before the snapshot was begun: it and all before are contained.
    package let begun: UInt64
    /// The number of the last change when it was complete: those behind it are not contained.
    package let complete: UInt64
    /// How far each Resource was, which decides about what happened between the two.
    package let sequences: [ResourceKey: UInt64]
    /// When it was made.
    package let at: Timestamp

    package init(
        _ octets: [UInt8], begun: UInt64, complete: UInt64, sequences: [ResourceKey: UInt64], at now: Timestamp
    ) {
        self.octets = ContentChunk(octets)
        self.begun = begun
        self.complete = complete
        self.sequences = sequences
        at = now
    }

    func contains(_ item: EventItem) -> Bool {
        if item.number <= begun { return true }
        return item.number <= complete && item.sequence <= sequences[item.key] ?? 0
    }
}

/// One event as it goes out, shared by all streams that carry it.
struct EventItem: Sendable {
    let number: UInt64
    let key: ResourceKey
    let sequence: UInt64
    let octets: ContentChunk
    /// The load whose progress this is: what it said before need not be sent any more.
    var progressOf: ObjectIdentifier?

    /// The same without anything to send, to keep its place.
    var silent: EventItem { EventItem(number: number, key: key, sequence: sequence, octets: ContentChunk([])) }
    var isSilent: Bool { octets.count == 0 }
}
