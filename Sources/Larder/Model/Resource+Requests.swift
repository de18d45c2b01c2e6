// SPDX-License-Identifier: Apache-2.0
import LarderIO
public import LarderHTTP

extension Resource {
    // MARK: Requests that change nothing here

    /// Makes and starts a request. Its outcome changes neither the resource's state nor what its observers see;
    /// `load(using:)` adopts a response.
    ///
    /// `mutation` sees the request with its configured fields, before configured mutators do. A body that cannot be
    /// written, and an invalid URL, give a request that has failed already.
    @discardableResult
    public func request(
        _ method: Method, body: RequestBody = .none, mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        if let circular = circularRequest(method) { return circular }
        return whileDecorating(method) {
            makeRequest(method, body: body, isConditional: false, isTracked: true, mutation: mutation).start()
        }
    }

    /// Makes and starts a request with bytes of a given type.
    @discardableResult
    public func request(
        _ method: Method, data: [UInt8], contentType: String, mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .data(data, contentType: contentType), mutation: mutation)
    }

    /// Makes and starts a request with text.
    @discardableResult
    public func request(
        _ method: Method, text: String, contentType: String = "text/plain", encoding: TextEncoding = .utf8,
        mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .text(text, contentType: contentType, encoding: encoding), mutation: mutation)
    }

    /// Makes and starts a request with a JSON object or array.
    @discardableResult
    public func request(
        _ method: Method, json: JSONValue, contentType: String = "application/json",
        mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .json(json, contentType: contentType), mutation: mutation)
    }

    /// Makes and starts a request with a JSON object of variables: `["price": 1.5, "name": name]`.
    @discardableResult @_disfavoredOverload
    public func request(
        _ method: Method, json: [String: Any], contentType: String = "application/json",
        mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .json(json, contentType: contentType), mutation: mutation)
    }

    /// Makes and starts a request with form parameters.
    @discardableResult
    public func request(
        _ method: Method, urlEncoded parameters: [String: String], mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .urlEncoded(parameters), mutation: mutation)
    }

    /// A request that has failed already.
    public func failedRequest(returning error: RequestError) -> Request {
        hardWiredRequest(returning: ResponseInfo(.failure(error)))
    }

    /// A request that has its response already.
    public func hardWiredRequest(returning info: ResponseInfo) -> Request {
        Request(completed: info, turns: turns, clock: service.clock)
    }

    /// An unstarted request that is carried out by `delegate`.
    public func prepareRequest(using delegate: some RequestDelegate) -> Request {
        Request(delegate, turns: turns, clock: service.clock)
    }

    // MARK: Loads

    /// Sends a request to the origin, even if data or loads exist, and adopts the response: the latest data or the
    /// latest error changes, and observers are notified. Existing data is validated.
    @discardableResult
    public func load() -> Request {
        circularRequest(.get) ?? startLoad(adopt(makeLoad(isTracked: true, onlyIfNeeded: false)))
    }

    /// Adopts the outcome of any request, as if it had been a load: for responses to other methods that are the new
    /// state of the resource.
    @discardableResult
    public func load(using request: Request) -> Request { adopt(request).start() }

    /// Has the outcome of a request that is about to start taken over when it is there.
    ///
    /// - Parameter generation: how many wipes there may have been for the outcome to be adopted.
    private func adopt(_ request: Request, since generation: UInt64? = nil) -> Request {
        var isLate = false
        perform { program, state in
            isLate = generation.map { $0 != state.wipeGeneration } ?? false
            if isLate { return .init() }
            let (id, transition) = program.machine.loadStarted()
            (request.delegate as? HostedLoadDelegate)?.setID(id, of: self)
            program.loadRequests.append((id, request, isReported: false))
            return transition
        }
        // The resource at the origin was changed nevertheless.
        if isLate { invalidate() }
        settle(request)
        return request
    }

    /// Loads unless the resource is up to date. A load in progress is returned instead of beginning another one, unless
    /// the resource was invalidated since it began. While caches are being read, the request waits for them, and asks
    /// the origin only if they contain nothing fresh.
    @discardableResult
    public func loadIfNeeded() -> Request? {
        checkCaches()
        let delegate = LoadDelegate(self)
        let request = Request(delegate, turns: turns, clock: service.clock)
        let joined = isRegistered ? Request(ClientLoadDelegate(self), turns: turns, clock: service.clock) : nil
        let circular = circularRequest(.get)
        let existing = withPlan { program, _, plan -> Request?? in
            if let circular { return .some(program.isUpToDate(by: plan) ? nil : circular) }
            if let running = program.loadRequests.first(where: { !program.machine.isOutdated($0.id) }) {
                return .some(running.request)
            }
            // Not judged before: a load that has ended since must not be made again.
            if program.isUpToDate(by: plan) { return .some(nil) }
            if let joined, program.hasClientLoad { return .some(joined) }
            let (id, _) = program.machine.loadStarted(isSilent: true)
            delegate.id = id
            program.loadRequests.append((id, request, isReported: false))
            program.allRequests.append(request)
            return .none
        }
        if let existing { return existing?.start() }
        settle(request)
        untrackWhenDone(request)
        return request.start()
    }

    /// Cancels all loads if the resource has no observers. Other requests continue.
    public func cancelLoadIfUnobserved() {
        removeOrphans()
        let cancelled = readProgram { program -> [Request] in
            guard let program, program.observers.isEmpty else { return [] }
            return program.loadRequests.map(\.request)
        }
        for request in cancelled { request.cancel() }
    }

    /// Does that after a delay, then calls `completion`, whether or not there was something to cancel.
    public func cancelLoadIfUnobserved(afterDelay delay: Duration, then completion: @escaping @Sendable () -> Void = {})
    {
        _ = service.clock.schedule(after: delay) {
            self.cancelLoadIfUnobserved()
            completion()
        }
    }

    // MARK: Parts

    /// Builds and decorates a request; it is not started.
    func makeRequest(
        _ method: Method, body: RequestBody = .none, isConditional: Bool, isTracked: Bool,
        mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        guard let target = url.target else {
            let cause = InvalidURL(url: url.string, detail: service.baseURLProblem)
            let detail = service.baseURLProblem.map { ": \($0)" } ?? ""
            return preFailed(cause, method, userMessage: "The address of the request is not valid\(detail)")
        }
        if case .impossible(let cause) = body.form {
            let content = cause is UnencodableText ? "text" : "data"
            return preFailed(cause, method, userMessage: "The \(content) of the request cannot be sent")
        }
        let version = service.configurationVersion
        let delegate = NetworkRequestDelegate(
            self, target: target, method: method, body: body, isConditional: isConditional, mutation: mutation)
        var request = Request(delegate, turns: turns, clock: service.clock, builtFrom: version)
        whileDecorating(delegate.sentMethod) {
            for decorate in delegate.decorators { request = decorate(self, request) }
        }
        guard isTracked, request.state != .completed else { return request }
        let tracked = request
        if let afterWrite = delegate.afterWrite { apply(afterWrite, of: delegate, after: tracked) }
        withProgram { $0.allRequests.append(tracked) }
        untrackWhenDone(tracked)
        return tracked
    }

    /// Applies the effect of a write. A write without a response may have been performed nevertheless.
    private func apply(
        _ afterWrite: Configuration.AfterWrite, of delegate: NetworkRequestDelegate, after write: Request
    ) {
        write.onCompletion { info in
            switch info.response {
            case .success(let entity):
                self.applyAfterWrite(
                    afterWrite, sent: delegate.sentEntity, response: entity, since: delegate.wipeGeneration)
            case .failure(let error) where error.status?.isError != true && error.cause as? InvalidURL == nil:
                self.applyAfterWrite(
                    Configuration.AfterWrite(afterWrite.action == .none ? .none : .invalidate, also: afterWrite.also))
            case .failure: break
            }
        }
    }

    /// Performs the configured action after a successful request that may have changed the resource (RFC 9111 §4.4).
    ///
    /// - Parameters:
    ///   - sent: what was written, for `override`.
    ///   - response: the result, for `promote`.
    ///   - generation: how many wipes there were when the request was made: what was wiped does not come back.
    private func applyAfterWrite(
        _ afterWrite: Configuration.AfterWrite, sent: AnyEntity? = nil, response: AnyEntity? = nil,
        since generation: UInt64? = nil
    ) {
        switch afterWrite.action {
        case .none: break
        case .invalidate: invalidate()
        case .reload:
            invalidate()
            load()
        case .override: if let sent { overrideLocalData(with: sent, since: generation) } else { invalidate() }
        case .promote:
            if let response {
                adopt(hardWiredRequest(returning: ResponseInfo(.success(response))), since: generation).start()
            } else {
                invalidate()
            }
        case .wipe: wipe(.memoryAndCaches)
        }
        for pattern in afterWrite.also { service.invalidateResources(matching: pattern) }
    }

    /// A load; it is not started. In a daemon it is one of the daemon's, whose clients get what it brings.
    func makeLoad(as id: LoadID? = nil, isTracked: Bool, onlyIfNeeded: Bool) -> Request {
        guard let host = registeredHost else {
            return makeRequest(.get, isConditional: true, isTracked: isTracked)
        }
        let delegate = HostedLoadDelegate(self, host, onlyIfNeeded: onlyIfNeeded)
        delegate.setID(id, of: self)
        let request = Request(delegate, turns: turns, clock: service.clock)
        if isTracked {
            withProgram { $0.allRequests.append(request) }
            untrackWhenDone(request)
        }
        return request
    }

    // MARK: Requests that decorators ask for

    /// Calls `body`, which decorates a request with that method or starts the decorated one. A decorator that asks for
    /// another such request of this resource meanwhile would wait for itself, or send requests without end.
    package func whileDecorating<Result>(_ method: Method, _ body: () -> Result) -> Result {
        decorating.during(DecoratedRequest(subject: self, words: words(method)), body)
    }

    private func words(_ method: Method) -> String { method == .get ? "load of \(url)" : "\(method) \(url)" }

    /// A request that has failed already, if this thread decorates a request with that method: the error names the
    /// requests from that one to this.
    private func circularRequest(_ method: Method) -> Request? {
        let (work, own) = (decorating.onThisThread, words(method))
        guard let first = work.firstIndex(where: { $0.subject === self && $0.words == own }) else { return nil }
        var way: [String] = []
        for words in work[first...].map(\.words) + [own] where way.last != words { way.append(words) }
        return preFailed(CircularWait(of: way.joined(separator: "' → '")), method)
    }

    /// Starts a load that decorators have had their part in.
    @discardableResult
    func startLoad(_ request: Request) -> Request {
        whileDecorating(.get) { request.start() }
    }

    private func preFailed(_ cause: any Error, _ method: Method, userMessage: String? = nil) -> Request {
        var error = RequestError(cause: cause, userMessage: userMessage, timestamp: service.clock.now)
        error.url = url
        error.method = method
        return failedRequest(returning: error)
    }

    private func untrackWhenDone(_ request: Request) {
        request.onCompletion { _ in
            self.withProgram { $0.allRequests.removeAll { $0 === request } }
        }
    }

    /// Has the outcome of a tracked load taken over when it is there.
    private func settle(_ request: Request) {
        report(withProgram { $0.takeUnreported() })
        request.onCompletion { info in self.finish(request, info) }
    }

    /// Has the observers told how far loads are.
    func report(_ loads: [Request]) { for load in loads { load.onProgress { self.reportProgress($0) } } }

    private func finish(_ request: Request, _ info: ResponseInfo) {
        // The adopted response replaces the response that a daemon's clients get.
        if isRegistered, !info.isInMemory, case .success = info.response {
            registeredHost?.invalidate(self)
        }
        perform { program, state in
            guard let id = program.loadRequests.first(where: { $0.request === request })?.id else { return .init() }
            // In the same turn as the state, so that a finished load is in no list.
            program.allRequests.removeAll { $0 === request }
            let transition = program.finish(id, ResourceMachine.LoadOutcome(info, of: self))
            // Only what the resource itself asked for by GET since it was last wiped is about its place in caches.
            guard let action = transition.action, let landing = info.landing, landing.method == .get,
                landing.resource == ObjectIdentifier(self), landing.wipeGeneration == state.wipeGeneration
            else { return transition }
            guard !landing.isUnstorable else {
                for entry in landing.entries { service.cacheWork.remove(entry, log: service.log) }
                return transition
            }
            switch action {
            case .store: store(landing.outputs)
            case .touchStored:
                guard case .success(let entity) = info.response else { break }
                for entry in landing.entries { service.cacheWork.update(entry, with: entity, log: service.log) }
            case .removeStored: break
            }
            return transition
        }
    }

    /// Stores the outputs of stages in their caches. Called with the lock held: so the writes are queued before those
    /// of any later change of state.
    func store(_ outputs: [PipelineRun.Output]) {
        for output in outputs { service.cacheWork.write(output.entity, to: output.entry, log: service.log) }
    }
}

extension ResourceMachine.LoadOutcome {
    /// The meaning of a response for a resource.
    init(_ info: ResponseInfo, of resource: Resource) {
        switch info.response {
        case .success(let entity):
            let isOwn = info.landing?.resource == ObjectIdentifier(resource)
            if isOwn, info.landing?.isConfirmedByCache == true {
                self = .confirmedByCache
            } else if info.isNew {
                self = .data(entity)
            } else if isOwn, let version = info.landing?.confirmedVersion {
                self = .notModified(entity, version: version)
            } else if info.landing == nil {
                // A decorator's or program's own word for it.
                self = .confirmed(at: resource.service.clock.now)
            } else {
                // Something was confirmed, but not this resource's data.
                self = .confirmedByCache
            }
        case .failure(let error):
            self = error.isCancellation ? .cancelled : .error(error)
        }
    }
}
