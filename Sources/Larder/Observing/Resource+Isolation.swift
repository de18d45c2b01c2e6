// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// An observer that belongs to the main actor, as views and their models do.
@MainActor
public protocol MainActorObserver: AnyObject, Sendable {
    /// Called after an event; `state` is the resource's state right after it.
    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState)

    /// Called when a load has made progress.
    func resourceRequestProgress(for resource: Resource, progress: Double)

    /// Called when the observer gets no more calls, unless it is added again. Not called when the observer was its own
    /// owner and has been deallocated.
    func stoppedObserving(_ resource: Resource)
}

extension MainActorObserver {
    public func resourceRequestProgress(for resource: Resource, progress: Double) {}
    public func stoppedObserving(_ resource: Resource) {}
}

extension Resource {
    // MARK: Observers on an actor

    /// Calls `body` on an actor for each event, in order, as long as `owner` exists and is not removed. Call it from
    /// that actor: `isolation` is `self` in an actor, `MainActor.shared` on the main actor.
    ///
    /// An actor that is its own owner is held weakly; `body` must not hold it either: `[weak self]`. By the time of a
    /// call more may have happened. When more than 4,096 calls wait for an actor, the older half of them is dropped.
    @discardableResult
    public func addObserver(
        owner: AnyObject, isolation: isolated any Actor, _ body: @escaping (Resource, ResourceEvent) -> Void
    ) -> Resource {
        observe(owner: owner, isolation: isolation) { resource, event, _ in body(resource, event) }
    }

    /// The same, with the state right after each event.
    @discardableResult
    public func addObserver(
        owner: AnyObject, isolation: isolated any Actor,
        _ body: @escaping (Resource, ResourceEvent, ResourceState) -> Void
    ) -> Resource {
        observe(owner: owner, isolation: isolation, body)
    }

    private func observe(
        owner: AnyObject, isolation: isolated any Actor,
        _ body: @escaping (Resource, ResourceEvent, ResourceState) -> Void
    ) -> Resource {
        addObserver(ActorObserver(isolation, owner, turns.delivery, Confined(body)), owner: owner)
    }

    /// Adds an observer of the main actor that is its own owner: it is referenced weakly and called as long as it
    /// exists. Adding it again changes nothing.
    @discardableResult
    public func addObserver(_ observer: some MainActorObserver) -> Resource {
        addObserver(MainActorAdapter(observer, turns.delivery), owner: observer)
    }

    /// Adds an observer of the main actor that is retained and called as long as `owner` exists and is not removed.
    @discardableResult
    public func addObserver(_ observer: some MainActorObserver, owner: AnyObject) -> Resource {
        addObserver(MainActorAdapter(observer, turns.delivery), owner: owner)
    }
}

/// An observer that is a function for an actor.
private struct ActorObserver: PostingObserver {
    typealias Body = Confined<(Resource, ResourceEvent, ResourceState) -> Void>

    /// An actor that is the owner exists as long as others refer to it; any other as long as the owner does.
    private weak var actor: (any Actor)?
    private let kept: (any Actor)?
    private let delivery: IsolatedDelivery
    private let body: Body
    let hasEnded = Flag()
    let hasTarget = false
    var target: (any Sendable & AnyObject)? { nil }

    init(_ actor: any Actor, _ owner: AnyObject, _ delivery: IsolatedDelivery, _ body: Body) {
        self.actor = actor
        kept = actor === owner ? nil : actor
        self.delivery = delivery
        self.body = body
    }

    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
        guard let actor else { return }
        let (body, hasEnded) = (body, hasEnded)
        delivery.post(to: actor, isDroppable: event != .observerAdded) { _ in
            if !hasEnded.isRaised { body.value(resource, event, state) }
        }
    }
}

/// Forwards calls to an observer of the main actor, which the list of observers keeps.
private struct MainActorAdapter: PostingObserver {
    let observerIdentity: ObserverIdentity?
    let hasEnded = Flag()
    let hasTarget = true
    private let delivery: IsolatedDelivery
    private weak var observer: (any MainActorObserver)?

    init(_ observer: some MainActorObserver, _ delivery: IsolatedDelivery) {
        observerIdentity = ObserverIdentity(ObjectIdentifier(observer))
        self.delivery = delivery
        self.observer = observer
    }

    var target: (any Sendable & AnyObject)? { observer }

    private func tell(isDroppable: Bool, _ body: @escaping @MainActor @Sendable (any MainActorObserver) -> Void) {
        let hasEnded = hasEnded
        delivery.post(to: MainActor.shared, isDroppable: isDroppable) { [weak observer] _ in
            guard !hasEnded.isRaised else { return }
            // Holds: this runs on the actor it was posted to.
            MainActor.assumeIsolated { if let observer { body(observer) } }
        }
    }

    func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
        tell(isDroppable: event != .observerAdded) { $0.resourceChanged(resource, event, state) }
    }

    func resourceRequestProgress(for resource: Resource, progress: Double) {
        tell(isDroppable: true) { $0.resourceRequestProgress(for: resource, progress: progress) }
    }

    /// The last call: the observer exists until then, as nothing else may keep it any more.
    func stoppedObserving(_ resource: Resource) {
        guard let observer else { return }
        delivery.post(to: MainActor.shared) { _ in
            // Holds: this runs on the actor it was posted to.
            MainActor.assumeIsolated { observer.stoppedObserving(resource) }
        }
    }
}

extension Resource {
    // MARK: Streams of state and content

    /// The resource's state, from now on: the current one, and one after each event. Ends with the iterating task.
    ///
    /// Of several states that were not read in time only the last is returned.
    public func states() -> AsyncStream<ResourceState> { stream { $0.state } }

    /// The content, from now on: the current one, if there is any, and each new one. Content of other types is left
    /// out. Ends with the iterating task. Of several that were not read in time only the last is returned.
    public func contents<Content: Sendable>(of type: Content.Type = Content.self) -> AsyncStream<Content> {
        stream { update in
            switch update.event {
            case .observerAdded, .newData: update.state.typedContent(as: Content.self)
            case .requested, .requestCancelled, .notModified, .error: nil
            }
        }
    }

    private func stream<Element: Sendable>(
        _ element: @escaping @Sendable (ResourceUpdate) -> Element?
    ) -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let end = observation { event, state in
                if let element = element(ResourceUpdate(event: event, state: state)) { continuation.yield(element) }
            }
            continuation.onTermination = { _ in end() }
        }
    }
}

extension TypedResource {
    /// The content, from now on, as `Resource.contents(of:)`.
    public func contents() -> AsyncStream<Content> { base.contents(of: Content.self) }
}

extension Request {
    // MARK: Hooks on an actor

    /// Calls `hook` on an actor when the request completes, whatever its result. Call it from that actor: `isolation`
    /// is `self` in an actor, `MainActor.shared` on the main actor. The other hooks with `isolation` are alike.
    @discardableResult
    public func onCompletion(isolation: isolated any Actor, _ hook: @escaping (ResponseInfo) -> Void) -> Request {
        let (actor, hook) = (isolation as any Actor, Confined(hook))
        let delivery = chainTurns.delivery
        return onCompletion { info in delivery.post(to: actor) { _ in hook.value(info) } }
    }

    /// Calls `hook` on an actor when the request succeeds, with new data or with the confirmed data.
    @discardableResult
    public func onSuccess(isolation: isolated any Actor, _ hook: @escaping (AnyEntity) -> Void) -> Request {
        onCompletion(isolation: isolation) { if case .success(let entity) = $0.response { hook(entity) } }
    }

    /// Calls `hook` on an actor when the request succeeds with new data.
    @discardableResult
    public func onNewData(isolation: isolated any Actor, _ hook: @escaping (AnyEntity) -> Void) -> Request {
        onCompletion(isolation: isolation) { if case .success(let entity) = $0.response, $0.isNew { hook(entity) } }
    }

    /// Calls `hook` on an actor when the request confirms the existing data.
    @discardableResult
    public func onNotModified(isolation: isolated any Actor, _ hook: @escaping () -> Void) -> Request {
        onCompletion(isolation: isolation) { if case .success = $0.response, !$0.isNew { hook() } }
    }

    /// Calls `hook` on an actor when the request fails or is cancelled.
    @discardableResult
    public func onFailure(isolation: isolated any Actor, _ hook: @escaping (RequestError) -> Void) -> Request {
        onCompletion(isolation: isolation) { if case .failure(let error) = $0.response { hook(error) } }
    }

    /// Calls `hook` on an actor with growing fractions while the request runs, at last with 1.
    @discardableResult
    public func onProgress(isolation: isolated any Actor, _ hook: @escaping (Double) -> Void) -> Request {
        let (actor, hook) = (isolation as any Actor, Confined(hook))
        let delivery = chainTurns.delivery
        return onProgress { fraction in
            delivery.post(to: actor, isDroppable: fraction < 1) { _ in hook.value(fraction) }
        }
    }
}
