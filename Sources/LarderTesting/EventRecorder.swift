// SPDX-License-Identifier: Apache-2.0
package import Larder
import LarderIO

/// An observer that writes down what it is told, one line an event: its name, and `loading` if a load was going on.
package final class EventRecorder: ResourceObserver {
    private struct State {
        var events: [String] = []
        var states: [ResourceState] = []
        var progress: [Double] = []
        var stops = 0
    }

    private let state = Lock(State())

    package init() {}

    package var events: [String] { state.withLock { $0.events } }
    package var states: [ResourceState] { state.withLock { $0.states } }
    package var progress: [Double] { state.withLock { $0.progress } }
    package var stops: Int { state.withLock { $0.stops } }

    /// Forgets what was written down.
    package func reset() { state.withLock { $0 = State() } }

    package func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
        self.state.withLock {
            $0.events.append("\(event)" + (state.isLoading ? " loading" : ""))
            $0.states.append(state)
        }
    }

    package func resourceRequestProgress(for resource: Resource, progress: Double) {
        state.withLock { $0.progress.append(progress) }
    }

    package func stoppedObserving(_ resource: Resource) { state.withLock { $0.stops += 1 } }
}

/// Values that any thread may add to.
package final class Recorder<Value: Sendable>: Sendable {
    private let state = Lock<[Value]>([])

    package init() {}

    package var values: [Value] { state.withLock { $0 } }
    package var count: Int { values.count }
    package func add(_ value: Value) { state.withLock { $0.append(value) } }
    package func callAsFunction(_ value: Value) { add(value) }
}

/// A cache in memory that writes down what is done with it.
package final class RecordingCache<Content: Sendable>: EntityCache {
    private struct State {
        var entities: [String: Entity<Content>] = [:]
        var log: [String] = []
        var isBroken = false
    }

    private struct Broken: Error {}

    private let state = Lock(State())
    private let makeKey: @Sendable (CacheSubject) -> String?

    /// Keys are the path of the URL unless said otherwise.
    package init(key: @escaping @Sendable (CacheSubject) -> String? = { $0.url.pathAndQuery }) { makeKey = key }

    package var log: [String] { state.withLock { $0.log } }
    package subscript(key: String) -> Entity<Content>? {
        get { state.withLock { $0.entities[key] } }
        set { state.withLock { $0.entities[key] = newValue } }
    }

    /// Has every operation fail from now on.
    package func breakDown() { state.withLock { $0.isBroken = true } }

    package func key(for subject: CacheSubject) -> String? { makeKey(subject) }

    package func readEntity(for key: String) throws -> Entity<Content>? {
        try perform("read \(key)") { $0[key] }
    }

    package func writeEntity(_ entity: Entity<Content>, for key: String) throws {
        try perform("write \(key)") { $0[key] = entity }
    }

    package func updateEntity(for key: String, timestamp: Timestamp, fields: Fields?) throws {
        try perform("update \(key)") { entities in
            entities[key]?.timestamp = timestamp
            if let fields { entities[key]?.fields = fields }
        }
    }

    package func removeEntity(for key: String) throws {
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
