// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderRules
import Synchronization

/// A feature's part in the requests of a service, at four points of each. The core calls them and knows no feature.
///
/// All points are called on the loop of the request. A feature keeps its values from one point to the next in the
/// states of the subject. A feature that needs another point stays in the core (docs/architecture.md).
package struct Stage: Sendable {
    /// No stored response answers a client's request without the origin. Called once for each look-up. True if the
    /// memory may have changed, so that the request must be decided again. A response that the stage has put there is in
    /// the states as `StageSupply`.
    package var onLookup: LookupPoint?
    /// A load is about to ask the origin. Its stored response, if the stage returns one, answers instead.
    package var onSend: SendPoint?
    /// The use of an origin's response is decided.
    package var onResponse: ResponsePoint?
    /// A load has ended, also without a response. Called once for each load.
    package var onEnd: EndPoint?
    /// The instant before which responses must have been stored to be of no use to the service.
    package var floor: StoredFloor?

    package typealias LookupPoint = @Sendable (any StagedLookup, inout StageStates) async -> Bool
    package typealias SendPoint = @Sendable (any StagedLoad) async -> StageSupply?
    package typealias ResponsePoint = @Sendable (StagedResponse) -> Void
    package typealias EndPoint = @Sendable (any StagedLoad) -> Void

    package init() {}
}

/// The stages of one service, by their points and in the order of its features. A service whose configuration uses no
/// feature has empty lists.
package struct Stages: Sendable {
    let onLookup: [Stage.LookupPoint]
    let onSend: [Stage.SendPoint]
    let onResponse: [Stage.ResponsePoint]
    let onEnd: [Stage.EndPoint]
    let floors: [StoredFloor]

    package init(_ stages: [Stage] = []) {
        onLookup = stages.compactMap { $0.onLookup }
        onSend = stages.compactMap { $0.onSend }
        onResponse = stages.compactMap { $0.onResponse }
        onEnd = stages.compactMap { $0.onEnd }
        floors = stages.compactMap { $0.floor }
    }

    /// Asks the stages in turn, until one has changed the memory. False if none has.
    func change(memoryFor lookup: any StagedLookup, _ states: inout StageStates) async -> Bool {
        for point in onLookup { if await point(lookup, &states) { return true } }
        return false
    }

    /// The response of the first stage that has one.
    func supply(for load: any StagedLoad) async -> StageSupply? {
        for point in onSend { if let supply = await point(load) { return supply } }
        return nil
    }
}

/// A stored response that a stage has supplied.
package final class StageSupply: Sendable {
    package let variant: Variant
    /// The detail in `Cache-Status` of the first response that it answers with.
    package let detail: String

    package init(_ variant: Variant, detail: String) {
        self.variant = variant
        self.detail = detail
    }
}

/// A response of the origin, by its use.
package enum StagedResponse {
    /// A load stores it. Content of this length, if it is known, follows.
    case begun(any StagedLoad, length: Int64?)
    /// A load has stored it, with this content in memory.
    case stored(any StagedLoad, StoredResponse, [ContentChunk])
    /// The same on disk alone, where `content` finds the content.
    case storedOnDisk(any StagedLoad, StoredResponse, content: () async -> VariantContent?)
    /// It has confirmed what a load validated.
    case confirmed(any StagedLoad, Variant)
    /// An answer to HEAD has freshened a stored response.
    case freshened(any StagedLookup, Variant)
    /// It is not stored.
    case unstored(any StagedLoad)
}

/// The values of a request that stages may use.
package protocol Staged {
    var service: RoutedService { get }
    var configuration: EffectiveConfiguration { get }
    var resource: Resource { get }
    var uri: TargetURI { get }
    /// The client's request, by which stored responses are selected.
    var head: RequestHead { get }
    /// The rules for its responses.
    var policy: CachePolicy { get }
    var states: StageStates { get }
    var loop: any StagedLoop { get }
}

/// The loop of a request.
package protocol StagedLoop: AnyObject {
    /// The states that features keep for the loop.
    var states: StageStates { get }
    func now() -> Timestamp
    func keepsInMemory(_ length: Int64?) -> Bool
    func mayKeep(_ length: Int64?) -> Bool
}

/// A look-up of stored responses for a client's request.
package protocol StagedLookup: Staged {
    /// The stored responses by which the request was decided.
    var candidates: [StoredResponse] { get }
    /// Stores a response in memory, and on disk unless `durability` forbids it. Nil when the Resource was wiped, or the
    /// response invalidated, since `mark`.
    func keep(
        _ stored: StoredResponse, _ durability: StorabilityDecision.Durability, _ chunks: [ContentChunk],
        since mark: ResourceMemory.Mark
    ) -> Variant?
}

/// A load, which asks the origin for all clients that wait for its response.
package protocol StagedLoad: Staged, AnyObject {
    var states: StageStates { get set }
    /// True if a fresh stored response is as good as a response of the origin.
    var maySettle: Bool { get }
    /// The client's request, if the load's response answers it and no other request; nil for a response that is made of
    /// several responses, and if credentials of the configuration were added.
    var soleRequest: RequestHead? { get }
    /// Stores a response in memory, and on disk unless `durability` forbids it. Nil when it has been invalidated since
    /// the load began.
    func keep(
        _ stored: StoredResponse, _ durability: StorabilityDecision.Durability, _ chunks: [ContentChunk]
    ) -> Variant?
    /// Stores a response on disk alone. Nil when it may not be stored, has been invalidated, or is incomplete.
    ///
    /// - Parameter read: calls its argument with all of the content in order, until that returns false. Returns false
    ///   if the content is incomplete.
    func keepOnDisk(
        _ stored: StoredResponse, length: Int64, by read: ((ContentChunk) async -> Bool) async -> Bool
    ) async -> Variant?
}

/// The states that features keep with one subject: at most one of each type.
package struct StageStates {
    private var states: [AnyObject] = []

    package init() {}

    package subscript<State: AnyObject>(_ type: State.Type) -> State? {
        get {
            for state in states { if let state = state as? State { return state } }
            return nil
        }
        set {
            states.removeAll { $0 is State }
            if let newValue { states.append(newValue) }
        }
    }
}

/// An instant; responses that were stored before it are not used, as an invalidation may have been missed.
package final class StoredFloor: Sendable {
    /// Nanoseconds since the epoch.
    private let instant: Atomic<Int64>

    /// - Parameter nanoseconds: since the epoch.
    package init(nanoseconds: Int64 = .min) { instant = Atomic(nanoseconds) }

    package var nanoseconds: Int64 { instant.load(ordering: .acquiring) }

    /// Responses stored before `now` are used no more.
    package func raise(to now: Timestamp) { instant.store(now.nanoseconds, ordering: .releasing) }

    /// True if a response must not be used. If the clock has been put back since, responses stored until now count as
    /// stored before the instant, and responses stored from now on do not.
    package func excludes(_ storedAt: Timestamp, at now: Timestamp) -> Bool {
        let floor = instant.min(now.nanoseconds, ordering: .acquiringAndReleasing).newValue
        return storedAt.nanoseconds < floor || storedAt > now
    }
}
