// SPDX-License-Identifier: Apache-2.0

/// Observes the changes of a resource.
///
/// Calls are made one after the other, in the order of the events, on the threads that cause them.
public protocol ResourceObserver: Sendable {
    /// Called after an event; `state` is the resource's state right after it.
    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState)

    /// Called when a load has made progress.
    func resourceRequestProgress(for resource: Resource, progress: Double)

    /// Called when the observer gets no more calls, unless it is added again. Not called when the observer was its own
    /// owner and has been deallocated.
    func stoppedObserving(_ resource: Resource)

    /// Identifies equal observers; nil for one that equals no other. Objects equal themselves by default.
    var observerIdentity: ObserverIdentity? { get }
}

extension ResourceObserver {
    public func resourceRequestProgress(for resource: Resource, progress: Double) {}
    public func stoppedObserving(_ resource: Resource) {}
    public var observerIdentity: ObserverIdentity? { nil }
}

extension ResourceObserver where Self: AnyObject {
    public var observerIdentity: ObserverIdentity? { ObserverIdentity(ObjectIdentifier(self)) }
}

/// A value that identifies an observer.
public struct ObserverIdentity: Hashable, Sendable {
    private let value: any (Hashable & Sendable)

    /// Makes an identity of any hashable value.
    public init(_ value: some Hashable & Sendable) { self.value = value }

    public static func == (a: ObserverIdentity, b: ObserverIdentity) -> Bool {
        AnyHashable(a.value) == AnyHashable(b.value)
    }
    public func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}

/// An observer that is a function.
struct ClosureObserver: ResourceObserver {
    let onProgress: @Sendable (Double) -> Void
    let onStop: @Sendable () -> Void
    let body: @Sendable (Resource, ResourceEvent, ResourceState) -> Void

    init(
        onProgress: @escaping @Sendable (Double) -> Void = { _ in }, onStop: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (Resource, ResourceEvent, ResourceState) -> Void
    ) {
        self.onProgress = onProgress
        self.onStop = onStop
        self.body = body
    }

    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
        body(resource, event, state)
    }
    func resourceRequestProgress(for resource: Resource, progress: Double) { onProgress(progress) }
    func stoppedObserving(_ resource: Resource) { onStop() }
}

/// The observers of one resource in the order they were added, each with the owners that keep it.
///
/// It is used with the Resource's lock held, and no code of a program's may run then: so owners are examined outside,
/// and references that may be the last are returned, to be released after the lock.
struct ObserverList: Sendable {
    typealias ID = UInt64

    struct Entry: Sendable {
        let id: ID
        let identity: ObserverIdentity?
        fileprivate(set) var observer: Held
        fileprivate(set) var owners: [Owner]
        /// Events up to this one happened before the observer was added.
        let since: UInt64
    }

    /// A strong reference while the observer has another owner, a weak one while it owns itself.
    struct Held: Sendable {
        fileprivate var strong: (any ResourceObserver)?
        fileprivate weak var weak: (any ResourceObserver & AnyObject)?

        var observer: (any ResourceObserver)? { strong ?? weak }
    }

    /// Owners are compared, never called, so their type does not matter.
    struct Owner: Sendable {
        fileprivate let id: ObjectIdentifier
        fileprivate let reference: WeakReference

        /// Not to be asked with a lock held: the owner may be deallocated by it.
        var isAlive: Bool { reference.isAlive }
    }

    /// The outcome of `add`.
    struct Added {
        /// The identifier of a new observer; nil for one that was there.
        var id: ID?
        /// The one that was there, to be released after the lock.
        fileprivate var known: (any ResourceObserver)?
    }

    /// The outcome of a removal.
    struct Removed {
        /// The observers that were removed and still exist.
        var observers: [any ResourceObserver] = []
        /// Others, to be released after the lock.
        fileprivate var kept: [any ResourceObserver] = []
    }

    /// In the order they were added; nil where one was removed, until there are too many such places.
    private var entries: [Entry?] = []
    private var positions: [ID: Int] = [:]
    private var identities: [ObserverIdentity: ID] = [:]
    private var lastID: ID = 0

    var isEmpty: Bool { positions.isEmpty }
    var all: [Entry] { entries.compactMap(\.self) }

    subscript(id: ID) -> Entry? { positions[id].flatMap { entries[$0] } }

    /// An owner that lives as long as `object` does.
    static func owner(_ object: AnyObject) -> Owner {
        Owner(id: ObjectIdentifier(object), reference: WeakReference(object))
    }

    /// Adds an observer, or an owner to an existing one.
    mutating func add(
        _ observer: any ResourceObserver, as identity: ObserverIdentity?, owner: Owner?, since: UInt64
    ) -> Added {
        let object = observer as? any ResourceObserver & AnyObject
        let isSelfOwned = object != nil && owner?.id == object.map(ObjectIdentifier.init)
        if let identity, let id = identities[identity], let position = positions[id] {
            if let known = entries[position]?.observer.observer {
                if let owner { add(owner, at: position, keeping: isSelfOwned ? nil : observer) }
                return Added(known: known)
            }
            // A deallocated object whose address has been reused.
            _ = remove(id)
        }
        lastID += 1
        if let identity { identities[identity] = lastID }
        positions[lastID] = entries.count
        entries.append(
            Entry(
                id: lastID, identity: identity, observer: Held(strong: isSelfOwned ? nil : observer, weak: object),
                owners: owner.map { [$0] } ?? [], since: since))
        return Added(id: lastID)
    }

    private mutating func add(_ owner: Owner, at position: Int, keeping observer: (any ResourceObserver)?) {
        guard var entry = entries[position] else { return }
        // The same owner, or a deallocated one that had its address.
        entry.owners.removeAll { $0.id == owner.id }
        entry.owners.append(owner)
        // It has another owner now, so it must be retained.
        if let observer { entry.observer.strong = observer }
        entries[position] = entry
    }

    /// Removes one observer whatever its owners; returns it if it was there.
    mutating func remove(_ id: ID) -> (any ResourceObserver)? {
        guard let position = positions.removeValue(forKey: id), let entry = entries[position] else { return nil }
        entries[position] = nil
        if let identity = entry.identity, identities[identity] == id { identities[identity] = nil }
        if entries.count > 16, positions.count < entries.count / 2 { compact() }
        return entry.observer.observer
    }

    private mutating func compact() {
        entries.removeAll { $0 == nil }
        for (position, entry) in entries.enumerated() { if let entry { positions[entry.id] = position } }
    }

    /// The owners of all observers.
    var owners: [Owner] { entries.flatMap { $0?.owners ?? [] } }

    /// Removes `owner` from all observers, and those that have no other.
    mutating func removeOwner(_ owner: AnyObject) -> Removed {
        let id = ObjectIdentifier(owner)
        return removeUnowned { $0.id == id }
    }

    /// Removes owners that have been deallocated, and the observers that have no other.
    mutating func remove(_ orphaning: [Owner]) -> Removed {
        let gone = Set(orphaning.map { ObjectIdentifier($0.reference) })
        return removeUnowned { gone.contains(ObjectIdentifier($0.reference)) }
    }

    private mutating func removeUnowned(_ isGone: (Owner) -> Bool) -> Removed {
        var removed = Removed()
        for entry in entries {
            guard var entry, entry.owners.contains(where: isGone), let position = positions[entry.id] else { continue }
            entry.owners.removeAll(where: isGone)
            if entry.owners.isEmpty {
                if let observer = remove(entry.id) { removed.observers.append(observer) }
            } else {
                if let object = entry.observer.weak {
                    removed.kept.append(object)
                    if entry.owners.map(\.id) == [ObjectIdentifier(object)] { entry.observer.strong = nil }
                }
                entries[position] = entry
            }
        }
        return removed
    }
}

/// Whether an object still exists.
// @unchecked: the weak reference is set once and only read as nil or not; the runtime makes that atomic.
private final class WeakReference: @unchecked Sendable {
    private weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
    var isAlive: Bool { object != nil }
}
