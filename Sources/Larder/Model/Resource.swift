// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderIO
import LarderRules

/// One URL of a service and its state: the latest data, the latest error, whether a load is in progress, whether the
/// data is up to date.
///
/// A service has one resource for each URL as long as there are references to it, so all users of a URL share its
/// state. Data, error and loading are independent of each other: data outlives errors.
///
/// All members can be used from any thread. Observers are notified of changes in the order they happen, each with the
/// resulting state.
public final class Resource: Sendable {
    /// The service the resource belongs to.
    public let service: Service
    /// The URL that identifies the resource.
    public let url: ResourceURL
    /// The users to whom the data belongs.
    public let partition: Partition
    /// The resource's state, for programs and for clients of a daemon.
    package let memory: ResourceMemory
    private let lazyTurns = OnceReference<TurnQueue>()

    /// The queue on which observers and hooks are called.
    var turns: TurnQueue { lazyTurns.load() ?? lazyTurns.storeIfNil(TurnQueue()) }

    /// The key by which a daemon finds the resource; empty where none serves it.
    package let key: ResourceKey

    package init(
        service: Service, url: ResourceURL, partition: Partition, key: ResourceKey = ResourceKey(),
        reach: ResourceMemory.Reach? = nil, isStoreRead: Bool = false
    ) {
        memory = ResourceMemory(reach: reach, isStoreRead: isStoreRead)
        self.key = key
        self.service = service
        self.url = url
        self.partition = partition
    }

    // MARK: State

    /// The data of the last load that succeeded, of a cache, or of an override; it survives errors. Reading it starts a
    /// read of the caches, if there was none.
    public var latestData: AnyEntity? {
        checkCaches()
        return readProgram { $0?.machine.latestData }
    }

    /// Why the last load failed; nil when it did not.
    public var latestError: RequestError? { readProgram { $0?.machine.latestError } }

    /// The later of the times of data and error, or nil when there is neither.
    public var timestamp: Timestamp? { state.timestamp }

    /// True if a load is in progress.
    ///
    /// In a daemon it may be a load of a client, which has no request here.
    public var isLoading: Bool { readProgram { $0?.machine.isLoading ?? false } }

    /// True if any request of this resource is in progress.
    public var isRequesting: Bool {
        readProgram { $0.map { !$0.allRequests.isEmpty || $0.machine.isLoading } ?? false }
    }

    /// The loads in progress, in the order they began.
    ///
    /// Loads of a daemon's clients are not among them.
    public var loadRequests: [Request] { readProgram { $0?.loadRequests.map(\.request) ?? [] } }

    /// All requests of this resource in progress, loads included, in the order they began.
    public var allRequests: [Request] { readProgram { $0?.allRequests ?? [] } }

    /// True if `loadIfNeeded` would do nothing: the data is younger than its lifetime, or an error younger than
    /// `retryTime`, and nothing was invalidated. An age that equals its limit is still within it.
    ///
    /// In a daemon that serves the resource: whether it would answer a plain GET of a client, one without credentials
    /// and cache directives, without asking the origin, by a fresh response or by the last failure. So data that clients
    /// do not get from memory or disk are not up to date, nor those as old as their lifetime (RFC 9111 §4.2). It is true
    /// for `retryTime` after any `latestError`, as everywhere. Clients do not wait after a 500: each of their requests
    /// asks the origin again, as `load()` does. They wait while the origin cannot be reached, and after statuses that a
    /// cache may keep without a lifetime. It is false while the resource has neither data nor an error, as before its
    /// caches have been read.
    public var isUpToDate: Bool {
        checkCaches()
        let (plan, isUpToDate) = withPlan { program, _, plan in (plan, program.isUpToDate(by: plan)) }
        let reason = CacheStatus(plan)?.member() ?? "refused"
        service.log(.staleness, "\(url): \(isUpToDate ? "up to date" : "out of date") (\(reason))")
        return isUpToDate
    }

    /// The whole state at one moment.
    public var state: ResourceState {
        checkCaches()
        return memory.withProgram(of: self) { program, state in program.snapshot(state.sequence) }
    }

    // MARK: Configuration

    /// The configuration for GET.
    public var configuration: Configuration { configuration(for: .get) }

    /// The configuration for a method.
    public func configuration(for method: Method) -> Configuration { frozenConfiguration(for: method).configuration }

    /// The configuration for a method and what it came from; computed when first asked for and again when the
    /// service's configuration has changed.
    package func frozenConfiguration(for method: Method) -> FrozenConfiguration {
        let current = service.configurationSet
        if let known = readProgram({ $0?.frozen[method] }), known.version == current.version { return known }
        let frozen = current.configuration(for: url, method: method)
        if frozen.hasProblems { service.reportProblems(of: frozen, for: url) }
        service.log(.configuration, "\(method) \(url): \(frozen.entries.joined(separator: "; "))")
        // A resource nothing else happens to keeps nothing: the set remembers what it computed.
        if memory.isFollowed { _ = withProgram { $0.frozen.updateValue(frozen, forKey: method) } }
        return frozen
    }

    // MARK: Changing state from outside

    /// Replaces the latest data with `entity`. It passes through no pipeline; the resource's cached entities are
    /// removed; running requests continue.
    ///
    /// In a daemon its clients get the content and its type too, where it can be encoded, as a 200 that no cache behind
    /// the daemon keeps; what loads under way bring is not kept.
    ///
    /// Before this returns, it calls the observers that belong to the caller's actor or to no actor. Observers that
    /// belong to other actors are called soon after. If another thread is calling observers of the resource already, that
    /// thread calls these observers.
    /// This also holds for `overrideLocalContent`, `invalidate` and `wipe`.
    public func overrideLocalData(with entity: AnyEntity, isolation: isolated (any Actor)? = #isolation) {
        telling(isolation) { overrideLocalData(with: entity, since: nil) }
    }

    private func telling(_ actor: (any Actor)?, _ change: () -> Void) {
        changingActors.during(actor.map { [$0] } ?? []) { turns.draining(change) }
    }

    /// Replaces the latest data as above, unless the resource was wiped more often than `generation` says.
    func overrideLocalData(with entity: AnyEntity, since generation: UInt64?) {
        if registeredHost?.override(self, with: entity, since: generation) == true { return }
        var isLate = false
        perform { program, state in
            isLate = generation.map { $0 != state.wipeGeneration } ?? false
            return isLate ? .init() : program.machine.overridden(with: entity)
        }
        // The resource at the origin was changed nevertheless.
        if isLate { invalidate() }
    }

    /// Replaces the content of the latest data, keeping its fields; the time is now. Without data the content type is
    /// `application/binary`.
    public func overrideLocalContent(with content: any Sendable, isolation: isolated (any Actor)? = #isolation) {
        telling(isolation) { replaceContent(with: content) }
    }

    private func replaceContent(with content: any Sendable) {
        let now = service.clock.now
        checkCaches()
        func made(_ program: ProgramState) -> AnyEntity {
            var entity =
                program.machine.latestData?.withContent(content)
                ?? Entity(content: content, contentType: "application/binary", timestamp: now)
            entity.touch(at: now)
            return entity
        }
        if isRegistered { return overrideLocalData(with: withProgram(made), since: nil) }
        perform { program, _ in program.machine.overridden(with: made(program)) }
    }

    /// Declares the data out of date: the next `loadIfNeeded` loads. Nothing else changes, and observers are not
    /// notified.
    public func invalidate(isolation: isolated (any Actor)? = #isolation) {
        telling(isolation) {
            withProgram { $0.machine.invalidated() }
            registeredHost?.invalidate(self)
        }
        service.log(.staleness, "\(url): invalidated")
    }

    /// The scope of a wipe.
    public enum WipeScope: String, Sendable, Hashable {
        /// The state in memory. Caches keep their contents, and the resource may show them again.
        case memory
        /// Caches too: the previous state is gone.
        case memoryAndCaches
    }

    /// Forgets data and error and cancels all requests, adopted ones too.
    public func wipe(_ scope: WipeScope = .memory, isolation: isolated (any Actor)? = #isolation) {
        telling(isolation) { forget(scope) }
        checkCaches()
    }

    private func forget(_ scope: WipeScope) {
        let removed = scope == .memoryAndCaches ? cacheEntries() : []
        let ended = memory.wipe {
            // Queued under the lock, so that no earlier write can follow it.
            for entry in removed { service.cacheWork.remove(entry, log: service.log) }
        }
        registeredHost?.wipe(self, scope)
        // Not before: observers may load again.
        ended?.end()
    }

    /// The data's version and the wipe generation, for a request that is about to be made conditional on it.
    func conditionalBasis(isWanted: Bool) -> (NetworkRequestDelegate.Basis?, wipeGeneration: UInt64) {
        memory.state.withLock { state in
            guard isWanted, let machine = state.program?.machine, let data = machine.latestData, !data.isLocalOverride,
                data.eTag != nil || data.fields.contains(.lastModified)
            else { return (nil, state.wipeGeneration) }
            return (NetworkRequestDelegate.Basis(entity: data, version: machine.dataVersion), state.wipeGeneration)
        }
    }

    /// True if the data of that version is still current.
    func isCurrent(_ version: UInt64) -> Bool {
        readProgram { $0?.machine.dataVersion == version && $0?.machine.latestData != nil }
    }
}

extension Resource: TypedContentAccessors {
    public var entityForTypedContent: AnyEntity? { latestData }
}

extension Resource: CustomStringConvertible {
    /// The URL relative to the base URL, and the state: L for loading, D for data, E for an error.
    public var description: String {
        let flags = readProgram { program in
            guard let machine = program?.machine else { return "" }
            return (machine.isLoading ? "L" : "") + (machine.latestData != nil ? "D" : "")
                + (machine.latestError != nil ? "E" : "")
        }
        let base = service.baseURL?.string ?? ""
        let name = url.string.hasPrefix(base) ? String(url.string.dropFirst(base.count)) : url.string
        return "Resource(\(name))[\(flags)]"
    }
}

/// A resource is the pattern of its URL, in any service. The pattern does not retain the resource.
extension Resource: ConfigurationPattern {
    public func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
        url.predicate(relativeTo: baseURL)
    }

    public var patternDescription: String { url.string }
}
