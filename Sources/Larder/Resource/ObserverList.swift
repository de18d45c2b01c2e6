// SPDX-License-Identifier: Apache-2.0

/// Something that is told what happens to a resource.
///
/// Calls come one after the other, in the order things happened, on whatever thread made them happen.
public protocol ResourceObserver: Sendable {
    /// Something has happened; `state` is how the resource was right after it.
    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState)

    /// A load has come further.
    func resourceRequestProgress(for resource: Resource, progress: Double)

    /// The observer will not be told anything more, unless it is added again. Not called when the observer was its
    /// own owner and has ceased to exist.
    func stoppedObserving(_ resource: Resource)

    /// What makes two observers the same; nil for one that is the same as no other. Objects are the same as
    /// themselves unless they say otherwise.
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

/// A value by which observers are told apart.
public struct ObserverIdentity: Hashable, Sendable {
    private let value: any (Hashable & Sendable)

    public init(_ value: some Hashable & Sendable) { self.value = value }

    public static func == (a: ObserverIdentity, b: ObserverIdentity) -> Bool { AnyHashable(a.value) == AnyHashable(b.value) }
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

    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) { body(resource, event, state) }
    func resourceRequestProgress(for resource: Resource, progress: Double) { onProgress(progress) }
    func stoppedObserving(_ resource: Resource) { onStop() }
}

/// The observers of one resource in the order they came, each with the owners that keep it.
struct ObserverList: Sendable {
    typealias ID = UInt64

    struct Entry: Sendable {
        let id: ID
        let identity: ObserverIdentity?
        fileprivate(set) var observer: Held
        fileprivate(set) var owners: [Owner]
        /// Events up to this one happened before the observer was there.
        let since: UInt64
    }

    /// Strongly while somebody else owns the observer, weakly while it owns itself.
    struct Held: Sendable {
        fileprivate var strong: (any ResourceObserver)?
        fileprivate weak var weak: (any ResourceObserver & AnyObject)?

        var observer: (any ResourceObserver)? { strong ?? weak }
    }

    /// Owners are compared, never called, so it does not matter what they are.
    struct Owner: Sendable {
        fileprivate let id: ObjectIdentifier
        fileprivate let isAlive: @Sendable () -> Bool
    }

    private var entries: [Entry] = []
    private var lastID: ID = 0

    var isEmpty: Bool { entries.isEmpty }
    var all: [Entry] { entries }

    /// An owner that lives as long as `object` does.
    static func owner(_ object: AnyObject) -> Owner {
        let id = ObjectIdentifier(object)
        let reference = WeakReference(object)
        return Owner(id: id) { reference.isAlive }
    }

    /// Adds an observer, or an owner to one that is there. The identifier of a new one, else nil.
    mutating func add(_ observer: any ResourceObserver, owner: Owner?, since: UInt64) -> ID? {
        let identity = observer.observerIdentity
        let object = observer as? any ResourceObserver & AnyObject
        if let identity, let index = entries.firstIndex(where: { $0.identity == identity && $0.observer.observer != nil }) {
            if let owner {
                if !entries[index].owners.contains(where: { $0.id == owner.id }) { entries[index].owners.append(owner) }
                // Somebody else owns it now, so it must be kept.
                if owner.id != object.map(ObjectIdentifier.init) { entries[index].observer.strong = observer }
            }
            return nil
        }
        lastID += 1
        let isSelfOwned = object != nil && owner?.id == object.map(ObjectIdentifier.init)
        entries.append(
            Entry(
                id: lastID, identity: identity,
                observer: isSelfOwned ? Held(strong: nil, weak: object) : Held(strong: observer, weak: object),
                owners: owner.map { [$0] } ?? [], since: since))
        return lastID
    }

    /// Removes one observer whatever its owners; the observer if it was there.
    mutating func remove(_ id: ID) -> (any ResourceObserver)? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        return entries.remove(at: index).observer.observer
    }

    /// Takes `owner` from all observers; those that have none left are removed and returned.
    mutating func removeOwner(_ owner: AnyObject) -> [any ResourceObserver] {
        let id = ObjectIdentifier(owner)
        return removeUnowned { $0.id == id }
    }

    /// Removes observers all of whose owners have ceased to exist, and returns those that still do themselves.
    mutating func removeOrphans() -> [any ResourceObserver] { removeUnowned { !$0.isAlive() } }

    private mutating func removeUnowned(_ isGone: (Owner) -> Bool) -> [any ResourceObserver] {
        // Most calls find nothing to do, and then nothing is copied.
        guard entries.contains(where: { $0.owners.contains(where: isGone) }) else { return [] }
        var removed: [any ResourceObserver] = []
        for index in entries.indices.reversed() where entries[index].owners.contains(where: isGone) {
            entries[index].owners.removeAll(where: isGone)
            if entries[index].owners.isEmpty {
                if let observer = entries.remove(at: index).observer.observer { removed.append(observer) }
            } else if let object = entries[index].observer.weak, entries[index].owners.map(\.id) == [ObjectIdentifier(object)] {
                entries[index].observer.strong = nil
            }
        }
        return removed.reversed()
    }
}

/// Whether an object still exists.
// @unchecked: the weak reference is set once and only read as nil or not; the runtime makes that atomic.
private final class WeakReference: @unchecked Sendable {
    private weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
    var isAlive: Bool { object != nil }
}
