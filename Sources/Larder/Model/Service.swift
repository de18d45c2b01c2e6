// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderIO
import Synchronization

/// One API: the resources below a base URL, how they are configured, and how they are reached.
///
/// Make one for each API and keep it. A type of your own that holds a service and has a member for each resource is
/// the usual way to give them names.
public final class Service: Sendable {
    /// Names the service in caches and logs.
    public let name: String
    /// Where relative paths begin; its path ends in a slash. It is a convenience, no fence: resources elsewhere can
    /// be reached. The pattern `**` is everything below it.
    public let baseURL: TargetURI?
    /// The source of times.
    public let clock: any ModelClock
    /// Where the service writes what it does.
    public let log: ModelLog
    let transport: any UpstreamTransport
    let cacheWork: CacheWork
    let host = Lock<(any ServiceHost)?>(nil)
    /// Where a daemon that serves the service has its resources.
    let home = Lock<ResourceHome?>(nil)
    let declaration = Lock(Declaration())
    private let table = ResourceTable()
    private let configurations: Lock<ConfigurationSet>
    private let version = Atomic<UInt64>(1)
    /// Why there is no base URL though one was given.
    let baseURLProblem: String?
    /// Problems of the configuration that were reported, each once.
    private let saidProblems = Lock<Set<String>>([])
    /// The resource for a nil URL, until the next flush.
    private let nowhere = Lock<Resource?>(nil)

    /// Makes a service. Without a transport of its own it uses `OriginTransport.shared`.
    ///
    /// A base URL that is no absolute http or https URL counts as none: the log says so at once, and every request for a
    /// path says so again. `standardTransformers` are put into the pipeline of every resource, before any other
    /// configuration.
    public init(
        _ name: String = "service", baseURL: String? = nil,
        standardTransformers: [StandardTransformer] = [.json, .text, .image],
        transport: any UpstreamTransport = OriginTransport.shared,
        defaults: Configuration = Configuration(), clock: any ModelClock = SystemModelClock(),
        log: ModelLog = ModelLog()
    ) {
        self.name = name
        self.baseURL = baseURL.flatMap(Service.normalisedBase)
        self.transport = transport
        self.clock = clock
        self.log = log
        cacheWork = CacheWork(clock: clock)
        let entries = standardTransformers.map { transformer in
            ConfigurationEntry(description: "standard transformer \(transformer.name)") { $0.pipeline.add(transformer) }
        }
        configurations = Lock(ConfigurationSet(version: 1, entries: entries, defaults: defaults))
        baseURLProblem =
            baseURL != nil && self.baseURL == nil
            ? "the base URL of the service '\(name)', '\(baseURL ?? "")', is none; write it as https://api.example.com"
            : nil
        if let baseURLProblem { log.problem(baseURLProblem) }
    }

    /// Reports problems of a resource's configuration, once.
    func reportProblems(of frozen: FrozenConfiguration, for url: ResourceURL) {
        let pipeline = frozen.configuration.pipeline
        var problems = pipeline.problems.map(\.description)
        problems += pipeline.unusedStages.map {
            "the stage '\($0)' holds transformers or a cache and is not in the order of the pipeline"
        }
        if let circle = frozen.circle {
            problems.append(
                "the configure closure '\(circle)' asks for the configuration that it makes, and gets that without "
                    + "itself; keep the value that it needs elsewhere, or use resources to which it does not apply")
        }
        for problem in problems { reportProblem("\(problem) (first seen for \(url))", as: problem) }
    }

    /// Reports a mistake of the program, once.
    func reportProblem(_ text: String, as problem: String? = nil) {
        guard saidProblems.withLock({ $0.insert(problem ?? text).inserted }) else { return }
        log.problem("\(name): \(text)")
    }

    /// The base URL in normal form, its path ending in a slash; nil for an invalid URL.
    private static func normalisedBase(_ text: String) -> TargetURI? {
        guard let target = ResourceURL(text).target else { return nil }
        if target.path.hasSuffix("/") { return target }
        return ResourceURL(target.origin + target.path + "/" + (target.query.map { "?" + $0 } ?? "")).target
    }

    // MARK: Resources

    /// The resource at a path below the base URL; nothing in `path` is special, and one leading slash is dropped.
    public func resource(_ path: String, in partition: Partition = .shared) -> Resource {
        guard let baseURL else { return invalid(path, partition) }
        return resource(for: ResourceURL(baseURL).child(path), in: partition)
    }

    /// The resource at a path below another base URL.
    public func resource(baseURL: String?, path: String, in partition: Partition = .shared) -> Resource {
        guard let base = baseURL.flatMap(Service.normalisedBase) else { return invalid(path, partition) }
        return resource(for: ResourceURL(base).child(path), in: partition)
    }

    /// The resource at a URL. For nil and for invalid URLs it is one whose requests all fail.
    public func resource(absoluteURL: String?, in partition: Partition = .shared) -> Resource {
        guard let absoluteURL else {
            return nowhere.withLock { resource in
                if let resource { return resource }
                let made = Resource(service: self, url: ResourceURL(""), partition: .shared)
                resource = made
                return made
            }
        }
        return resource(for: ResourceURL(absoluteURL), in: partition)
    }

    /// The resource at a URL.
    public func resource(for url: ResourceURL, in partition: Partition = .shared) -> Resource {
        guard url.isValid else { return invalid(url.string, partition) }
        if let home = home.withLock({ $0 }), let target = url.target {
            return home.resource(for: target, in: partition, of: self)
        }
        return table.resource(for: ResourceTable.Key(partition: partition, url: url)) {
            Resource(service: self, url: url, partition: partition)
        }
    }

    private func invalid(_ text: String, _ partition: Partition) -> Resource {
        Resource(service: self, url: ResourceURL(text), partition: partition)
    }

    /// How many resources may exist before unreferenced ones are released. In a daemon that is for its memory to say.
    public var cachedResourceCountLimit: Int {
        get { table.limit }
        set { table.limit = newValue }
    }

    /// Releases resources that are not referenced, observed or waited for, and with them their data in memory.
    public func flushUnusedResources() {
        nowhere.withLock { $0 = nil }
        table.flush()
        guard let home = home.withLock({ $0 }) else { return }
        for resource in home.resources(of: self) { resource.removeOrphans() }
        home.registry.flushUnused { $0.service === self && $0.memory.isFollowed }
    }

    /// The resources that exist; in a daemon those that a program asked for.
    package var resources: [Resource] { home.withLock { $0 }?.resources(of: self) ?? table.all }
    package var resourceCount: Int { resources.count }

    // MARK: Wiping

    /// Wipes the resources for which `isMatch` is true; others are unchanged.
    ///
    /// In a daemon that serves the service, its state for clients is wiped as well: in memory at once, on disk, for
    /// `memoryAndCaches`, soon after (`finishCacheWork` waits for it). `isMatch` is called for that too. Without a daemon
    /// observers are called as by ``Resource/wipe(_:isolation:)``; a daemon calls observers on actors soon after.
    public func wipeResources(
        _ scope: Resource.WipeScope = .memory,
        where isMatch: @escaping @Sendable (Resource) -> Bool = { _ in true },
        isolation: isolated (any Actor)? = #isolation
    ) {
        for resource in table.all where isMatch(resource) { resource.wipe(scope, isolation: isolation) }
        tellHost { $0.wipe(self, scope, where: isMatch) }
    }

    /// Wipes the resources that a pattern matches.
    public func wipeResources(
        matching pattern: some ConfigurationPattern, _ scope: Resource.WipeScope = .memory,
        isolation: isolated (any Actor)? = #isolation
    ) {
        let isMatch = pattern.predicate(relativeTo: baseURL)
        wipeResources(scope, where: { isMatch($0.url) }, isolation: isolation)
    }

    /// Wipes the resources that a glob matches.
    public func wipeResources(
        matching pattern: GlobPattern, _ scope: Resource.WipeScope = .memory,
        isolation: isolated (any Actor)? = #isolation
    ) {
        let isMatch = pattern.predicate(relativeTo: baseURL)
        wipeResources(scope, where: { isMatch($0.url) }, isolation: isolation)
    }

    /// Declares the data of the resources that a glob matches out of date; in a daemon, what its clients get too: from memory
    /// at once, and from disk when ``finishCacheWork()`` has returned. A daemon that is about to start waits for that.
    public func invalidateResources(matching pattern: GlobPattern) {
        let isMatch = pattern.predicate(relativeTo: baseURL)
        for resource in table.all where isMatch(resource.url) { resource.invalidate() }
        tellHost { $0.invalidate(self, matching: pattern) }
    }

    /// Loads observed resources in error, unless an error is too recent: for when the network has come back. In a
    /// daemon, also those watched by its clients.
    public func reloadAfterRecovery() {
        for resource in table.all where resource.memory.hasInterest && resource.latestError != nil {
            resource.loadIfNeeded()
        }
        tellHost { $0.reloadAfterRecovery(self) }
    }

    // MARK: Configuration

    /// The version of `configurationSet`, without waiting for anyone.
    package var configurationVersion: UInt64 { version.load(ordering: .acquiring) }

    package var configurationSet: ConfigurationSet { configurations.withLock { $0 } }

    /// Adds configuration for the resources that a pattern matches, for some methods or all. Later configuration
    /// sees and may change what earlier one left.
    ///
    /// The closure may run at any time, on any thread, any number of times. It changes nothing else: configuration that
    /// it adds or invalidates stays as it is. If it asks for what it makes, as by `latestData` of a resource that it
    /// applies to, it gets what earlier closures have made. The log warns of both.
    public func configure(
        _ pattern: some ConfigurationPattern, methods: Set<Method>? = nil, description: String? = nil,
        _ body: @escaping @Sendable (inout Configuration) -> Void
    ) {
        add(
            ConfigurationEntry(
                description: description ?? pattern.patternDescription, methods: methods,
                matches: pattern.predicate(relativeTo: baseURL), apply: body))
    }

    /// Adds configuration for the resources that a glob matches.
    public func configure(
        _ pattern: GlobPattern, methods: Set<Method>? = nil, description: String? = nil,
        _ body: @escaping @Sendable (inout Configuration) -> Void
    ) {
        add(
            ConfigurationEntry(
                description: description ?? pattern.text, methods: methods,
                matches: pattern.predicate(relativeTo: baseURL), apply: body))
    }

    /// Adds configuration for all resources, or for those whose URL a function accepts.
    public func configure(
        whenURLMatches isMatch: @escaping @Sendable (ResourceURL) -> Bool = { _ in true }, methods: Set<Method>? = nil,
        description: String? = nil, _ body: @escaping @Sendable (inout Configuration) -> Void
    ) {
        configure(PredicatePattern(description ?? "custom predicate", isMatch), methods: methods, body)
    }

    /// Has all configuration computed anew when next used: for entries whose closures read values that change.
    /// Data, running requests and caches are not touched. In a daemon that serves the service, its clients are served
    /// by the new one too; requests that have begun keep the old one.
    public func invalidateConfiguration() {
        guard !isConfiguring("invalidateConfiguration()") else { return }
        change { $0.replacing($0.entries) }
        tellHost { $0.configurationIsInvalid(of: self) }
    }

    /// Replaces all entries in one step.
    package func replaceConfiguration(with entries: [ConfigurationEntry]) { change { $0.replacing(entries) } }

    package func add(_ entry: ConfigurationEntry) {
        guard !isConfiguring("configure(…)"), !declaration.withLock({ $0.take(entry) }) else { return }
        change { $0.adding(entry) }
        tellHost { $0.configurationIsInvalid(of: self) }
    }

    /// True if one of the closures makes `call`, which would have it run again, and so on for ever.
    private func isConfiguring(_ call: String) -> Bool {
        guard configurationSet.isComputing else { return false }
        reportProblem("a configure closure calls \(call), which changes nothing there; call it elsewhere")
        return true
    }

    private func change(_ body: (ConfigurationSet) -> ConfigurationSet) {
        // The former one is released after the lock: it may have the last references to objects of the program.
        _ = configurations.withLock { set in
            let former = set
            set = body(set)
            version.store(set.version, ordering: .releasing)
            return former
        }
    }

    /// Waits until all that caches, and a daemon that serves the service, have been asked to do so far is done.
    public func finishCacheWork() async { await cacheWork.finish() }
}
