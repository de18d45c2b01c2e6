// SPDX-License-Identifier: Apache-2.0
public import Larder
import LarderIO

/// An observer that records its calls, one line an event: its name, and `loading` if a load was in progress.
public final class EventRecorder: ResourceObserver {
    private struct State {
        var events: [String] = []
        var states: [ResourceState] = []
        var progress: [Double] = []
        var stops = 0
    }

    private let state = Lock(State())

    /// Makes an empty recorder.
    public init() {}

    /// The events, as `newData(network)` or `requested loading`.
    public var events: [String] { state.withLock { $0.events } }
    /// The states after the events.
    public var states: [ResourceState] { state.withLock { $0.states } }
    /// The reported progress.
    public var progress: [Double] { state.withLock { $0.progress } }
    /// How often observation stopped.
    public var stops: Int { state.withLock { $0.stops } }

    /// Clears the records.
    public func reset() { state.withLock { $0 = State() } }

    public func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
        self.state.withLock {
            $0.events.append("\(event)" + (state.isLoading ? " loading" : ""))
            $0.states.append(state)
        }
    }

    public func resourceRequestProgress(for resource: Resource, progress: Double) {
        state.withLock { $0.progress.append(progress) }
    }

    public func stoppedObserving(_ resource: Resource) { state.withLock { $0.stops += 1 } }
}

/// Values that any thread may append to.
public final class Recorder<Value: Sendable>: Sendable {
    private let state = Lock<[Value]>([])

    /// Makes an empty recorder.
    public init() {}

    /// The values in the order they were added.
    public var values: [Value] { state.withLock { $0 } }
    /// The number of values.
    public var count: Int { values.count }
    /// Adds a value.
    public func add(_ value: Value) { state.withLock { $0.append(value) } }
    /// Adds a value, so that a recorder can be called like a function.
    public func callAsFunction(_ value: Value) { add(value) }
}

/// A cache in memory that records its operations.
public final class RecordingCache<Content: Sendable>: EntityCache {
    private struct State {
        var entities: [String: Entity<Content>] = [:]
        var log: [String] = []
        var isBroken = false
    }

    private struct Broken: Error {}

    private let state = Lock(State())
    private let makeKey: @Sendable (CacheSubject) -> String?

    /// Keys are the path of the URL by default.
    public init(key: @escaping @Sendable (CacheSubject) -> String? = { $0.url.pathAndQuery }) { makeKey = key }

    /// The operations, as `read /path`.
    public var log: [String] { state.withLock { $0.log } }
    /// The entity under a key.
    public subscript(key: String) -> Entity<Content>? {
        get { state.withLock { $0.entities[key] } }
        set { state.withLock { $0.entities[key] = newValue } }
    }

    /// Makes every operation fail from now on.
    public func breakDown() { state.withLock { $0.isBroken = true } }

    public func key(for subject: CacheSubject) -> String? { makeKey(subject) }

    public func readEntity(for key: String) throws -> Entity<Content>? {
        try perform("read \(key)") { $0[key] }
    }

    public func writeEntity(_ entity: Entity<Content>, for key: String) throws {
        try perform("write \(key)") { $0[key] = entity }
    }

    public func updateEntity(for key: String, timestamp: Timestamp, fields: Fields?) throws {
        try perform("update \(key)") { entities in
            entities[key]?.timestamp = timestamp
            if let fields { entities[key]?.fields = fields }
        }
    }

    public func removeEntity(for key: String) throws {
        try perform("remove \(key)") { $0[key] = nil }
    }

    private func perform<Result>(_ line: String, _ body: (inout [String: Entity<Content>]) -> Result) throws -> Result {
        try state.withLock { state in
            if state.isBroken { throw Broken() }
            state.log.append(line)
            return body(&state.entities)
        }
    }
}
