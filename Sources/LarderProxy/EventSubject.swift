// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP

/// The subject of an event stream, and its format.
package struct EventSubject: Sendable {
    package let key: Key
    package let scope: Scope
    package let text: any EventText
    /// True if it selects resources, so that its observers mean each of them: a stream about everything does not.
    package var isSelective = false
    /// Which exchanges are reported as well; nil for none.
    package var requests: (@Sendable (RequestNote) -> Bool)?

    /// Streams with equal keys have the same subject and get the same bytes. All that tells subjects apart is in it,
    /// each part for itself: clients choose patterns, and a pattern may have any characters.
    package struct Key: Hashable, Sendable {
        package enum Selection: Hashable, Sendable {
            case url(String, service: UInt32)
            /// With the base URLs of services at that time: a reload changes what a pattern means.
            case pattern(String?, service: String?, bases: [String: String])
        }

        package let selection: Selection
        /// True if small contents are included.
        package let hasContent: Bool
        /// Which exchanges are reported as well, in the words of the request.
        package let requests: String

        package init(_ selection: Selection, hasContent: Bool, requests: String) {
            self.selection = selection
            self.hasContent = hasContent
            self.requests = requests
        }
    }

    package enum Scope: Sendable {
        /// One URL: its shared state, and its events in any partition. Observers of it are interested in its loads
        /// (T-15).
        case resource(ResourceSubject)
        /// All resources that satisfy it.
        case matching(@Sendable (ResourceChange) -> Bool)
    }

    package init(_ key: Key, scope: Scope, text: any EventText) {
        self.key = key
        self.scope = scope
        self.text = text
    }

    package var hasContent: Bool { key.hasContent }

    /// The key under which changes of one URL are found; nil when every change must be tested.
    var exactKey: EventKey? {
        guard case .resource(let subject) = scope else { return nil }
        return EventKey(service: subject.service.number, url: subject.url)
    }

    /// The single watched Resource, in the shared partition; created if there is none, so that it stays while it is
    /// watched. nil for a pattern.
    func resource(in registry: Registry) -> Resource? {
        guard case .resource(let subject) = scope else { return nil }
        return subject.resource(in: .shared, of: registry)
    }
}

/// One URL of a service, in any partition.
struct EventKey: Hashable, Sendable {
    var service: UInt32
    var url: String
}

/// Formats events: whole events of a stream (HTML, Server-sent events), as bytes.
package protocol EventText: Sendable {
    func event(_ change: ResourceChange, withContent: Bool, now: Timestamp) -> [UInt8]

    /// A finished exchange.
    func event(_ note: RequestNote) -> [UInt8]

    /// The first event for new subscribers, and for subscribers that have missed events.
    ///
    /// - Parameter resource: the watched Resource; nil to find the Resources that match.
    func snapshot(of subject: EventSubject, _ resource: Resource?, in proxy: Proxy) async -> EventSnapshot

    /// The last event of a stream that Larder ends.
    var farewell: [UInt8] { get }
}

/// The state of a stream's subject.
package struct EventSnapshot: Sendable {
    package let octets: ContentChunk
    /// The number of the last change before the snapshot was begun: it and all earlier ones are contained.
    package let begun: UInt64
    /// The number of the last change when it was complete: later ones are not contained.
    package let complete: UInt64
    /// The sequence of each Resource, which decides about the changes between the two.
    package let sequences: [ResourceKey: UInt64]
    /// When it was created.
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

/// One formatted event, shared by all streams that carry it.
struct EventItem: Sendable {
    let number: UInt64
    let key: ResourceKey
    let sequence: UInt64
    let octets: ContentChunk
    /// The load whose progress this is: earlier reports of it need not be sent any more.
    var progressOf: ObjectIdentifier?

    /// The same event without bytes, to keep its position.
    var silent: EventItem { EventItem(number: number, key: key, sequence: sequence, octets: ContentChunk([])) }
    var isSilent: Bool { octets.count == 0 }
}
