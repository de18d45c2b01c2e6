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

    /// Identifies equal observers; nil for an observer that equals no other. Objects equal themselves by default.
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
    let body: @Sendable (Resource, ResourceEvent, ResourceState) -> Void

    init(_ body: @escaping @Sendable (Resource, ResourceEvent, ResourceState) -> Void) { self.body = body }

    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
        body(resource, event, state)
    }
}

/// An observer whose calls reach an actor later than they are made.
protocol PostingObserver: ResourceObserver {
    /// Raised when it is removed: calls on their way are not made any more.
    var hasEnded: Flag { get }
    /// The object that receives the calls, which keeps the observation if it is its own owner. Nil for a function, and
    /// for an object that has been deallocated.
    var target: (any Sendable & AnyObject)? { get }
    /// True if there is or was a target.
    var hasTarget: Bool { get }
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

    /// An observer, with a strong reference to its object while it has another owner, and a weak one while it owns itself.
    ///
    /// Its properties load references that may be the last references. The caller must keep references loaded with the
    /// lock held until the lock is released.
    struct Held: Sendable {
        /// One that is no object itself: a function, or what forwards to the target of a `PostingObserver`.
        private let value: (any ResourceObserver)?
        private var strong: (any Sendable & AnyObject)?
        private weak var own: (any ResourceObserver & AnyObject)?

        fileprivate init(_ observer: any ResourceObserver) {
            if let own = observer as? any ResourceObserver & AnyObject {
                value = nil
                self.own = own
            } else {
                value = observer
            }
        }

        private var forwarding: (any PostingObserver)? {
            (value as? any PostingObserver).flatMap { $0.hasTarget ? $0 : nil }
        }

        /// The object that may be its own owner.
        fileprivate var object: (any Sendable & AnyObject)? { own ?? forwarding?.target }

        /// nil when it has been deallocated.
        var observer: (any ResourceObserver)? {
            guard let value else { return own }
            return forwarding.map { $0.target != nil } ?? true ? value : nil
        }

        /// Calls on their way to an actor are not made any more.
        func end() { (value as? any PostingObserver)?.hasEnded.raise() }

        fileprivate mutating func hold() { strong = object }
        fileprivate mutating func letGo() { strong = nil }
    }

    /// Owners are compared, never called, so their type does not matter.
    struct Owner: Sendable {
        fileprivate let id: ObjectIdentifier
        fileprivate let reference: WeakReference

        /// Must not be read with the lock held, because reading may deallocate the owner.
        var isAlive: Bool { reference.isAlive }
    }

    /// The outcome of `add`.
    struct Added {
        /// The identifier of a new observer; nil for an observer that was there before.
        var id: ID?
        /// To be released after the lock.
        fileprivate var kept: [any Sendable] = []
    }

    /// The outcome of a removal.
    struct Removed {
        /// The observers that were removed.
        var observers: [Held] = []
        /// To be released after the lock.
        fileprivate var kept: [any Sendable] = []
    }

    /// In the order they were added; nil where one was removed, until there are too many such places.
    private var entries: [Entry?] = []
    private var positions: [ID: Int] = [:]
    private var identities: [ObserverIdentity: ID] = [:]
    /// The observers of each owner, by the address of the owner.
    private var owned: [ObjectIdentifier: Set<ID>] = [:]
    /// How many entries removals have looked at, for tests.
    private(set) var examined = 0
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
        var held = Held(observer)
        let object = held.object
        let isSelfOwned = object != nil && owner?.id == object.map(ObjectIdentifier.init)
        var added = Added(kept: object.map { [$0] } ?? [])
        if let identity, let id = identities[identity], let position = positions[id] {
            if let known = entries[position]?.observer, let observer = known.observer {
                if let owner { add(owner, at: position, isHeld: !isSelfOwned) }
                added.kept += [known, observer] as [any Sendable]
                return added
            }
            // A deallocated object whose address has been reused.
            if let gone = remove(id) { added.kept.append(gone) }
        }
        if !isSelfOwned { held.hold() }
        lastID += 1
        if let identity { identities[identity] = lastID }
        positions[lastID] = entries.count
        entries.append(
            Entry(
                id: lastID, identity: identity, observer: held, owners: owner.map { [$0] } ?? [], since: since))
        if let owner { owned[owner.id, default: []].insert(lastID) }
        added.id = lastID
        return added
    }

    private mutating func add(_ owner: Owner, at position: Int, isHeld: Bool) {
        guard var entry = entries[position] else { return }
        // The owner itself, or a deallocated owner that had its address.
        entry.owners.removeAll { $0.id == owner.id }
        entry.owners.append(owner)
        owned[owner.id, default: []].insert(entry.id)
        // It has another owner now, so it must be retained.
        if isHeld { entry.observer.hold() }
        entries[position] = entry
    }

    /// Removes one observer with all its owners; returns the observer if it was there.
    mutating func remove(_ id: ID) -> Held? {
        guard let position = positions.removeValue(forKey: id), let entry = entries[position] else { return nil }
        entries[position] = nil
        if let identity = entry.identity, identities[identity] == id { identities[identity] = nil }
        for owner in entry.owners { disown(id, owner.id) }
        if entries.count > 16, positions.count < entries.count / 2 { compact() }
        return entry.observer
    }

    private mutating func disown(_ id: ID, _ owner: ObjectIdentifier) {
        owned[owner]?.remove(id)
        if owned[owner]?.isEmpty == true { owned[owner] = nil }
    }

    private mutating func compact() {
        entries.removeAll { $0 == nil }
        for (position, entry) in entries.enumerated() { if let entry { positions[entry.id] = position } }
    }

    /// The owners of all observers.
    var owners: [Owner] { entries.flatMap { $0?.owners ?? [] } }

    /// Removes `owner` from all observers, and removes the observers that have no other owner.
    mutating func removeOwner(_ owner: AnyObject) -> Removed {
        let id = ObjectIdentifier(owner)
        return removeUnowned(owned[id] ?? []) { $0.id == id }
    }

    /// Removes owners that have been deallocated, and the observers that have no other.
    mutating func remove(_ orphaning: [Owner]) -> Removed {
        let gone = Set(orphaning.map { ObjectIdentifier($0.reference) })
        let ids = orphaning.reduce(into: Set<ID>()) { $0.formUnion(owned[$1.id] ?? []) }
        return removeUnowned(ids) { gone.contains(ObjectIdentifier($0.reference)) }
    }

    private mutating func removeUnowned(_ ids: Set<ID>, _ isGone: (Owner) -> Bool) -> Removed {
        var removed = Removed()
        for id in ids.sorted() {
            examined += 1
            guard let position = positions[id], var entry = entries[position] else { continue }
            let lost = entry.owners.filter(isGone)
            entry.owners.removeAll(where: isGone)
            if entry.owners.isEmpty {
                if let observer = remove(id) { removed.observers.append(observer) }
                continue
            }
            // One that is at the address of a lost owner still owns it.
            for owner in lost where !entry.owners.contains(where: { $0.id == owner.id }) { disown(id, owner.id) }
            if let object = entry.observer.object {
                removed.kept.append(object)
                if entry.owners.map(\.id) == [ObjectIdentifier(object)] { entry.observer.letGo() }
            }
            entries[position] = entry
        }
        return removed
    }
}

/// A weak reference that says if its object still exists.
// @unchecked: the weak reference is set once and only read as nil or not; the runtime makes that atomic.
private final class WeakReference: @unchecked Sendable {
    private weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
    var isAlive: Bool { object != nil }
}
