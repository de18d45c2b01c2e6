// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
package import LarderIO
package import LarderProxy
import LarderRules
package import LarderSettings
import LarderSharing
import LarderStores
import LarderUpstream
package import Logging

/// The daemon: creates services, a store and a proxy from the settings, starts, reloads and stops them.
package final class Daemon: Sendable {
    package let proxy: Proxy
    /// The history of the last day; to be sampled every `History.interval`.
    package let history: History
    private let statistics: StatisticsFile?
    private let state: Lock<Lasting>
    /// The thread that makes a configuration, with `state` locked.
    private let maker = Lock<UInt?>(nil)

    /// - Parameters:
    ///   - time: the clocks of everything the daemon does.
    ///   - recent: receives the warnings and errors that `logger` writes.
    package init(
        settings: Settings, logger: Logger, time: any TimeSource = SystemTime(), recent: RecentLines = RecentLines()
    ) throws {
        var lasting = try Lasting(settings)
        var isMade = false
        // Programs may have asked for operations while they configured their services: these end with an error.
        defer { if !isMade { lasting.giveUp() } }
        lasting.clock = SystemModelClock(time)
        lasting.users = try Daemon.gate(settings.access, after: nil)
        lasting.variables.declare(
            settings.variables, renewals: lasting.renewals(settings), at: Timestamp(nanoseconds: time.now()))
        let store = try Daemon.openStore(settings, time: time, logger: logger)
        if let store { lasting.identities = try InstallationKey.digest(in: store) }
        let interception = Interception(keeper: store.map { AuthorityFiles(directory: $0.directory) })
        try interception.prepare(for: settings, now: Timestamp(nanoseconds: time.now()))
        lasting.interception = interception
        let recordings = store.map { RecordingFiles(directory: $0.directory) }
        recordings?.removeDrafts()
        statistics = store.map { StatisticsFile(directory: $0.directory, logger) }
        history = History(
            continuing: statistics.map { file in
                file.read() ?? KeptStatistics(startingAt: Timestamp(nanoseconds: time.now()))
            })
        let positions = store.map { PositionFile(directory: $0.directory) }
        if let sharing = try Sharing(settings.sharedCache, positions) { lasting.features.append(sharing) }
        proxy = try Proxy(
            configuration: Daemon.configuration(settings, &lasting, asksPrograms: true),
            diskTier: store.map { DiskTier(store: $0, via: ProxyConfiguration.via) },
            pages: AdminPages(history: history, recent: recent), logger: logger, time: time, interception: interception,
            recordings: RecordingTable(keeper: recordings),
            registry: lasting.registry, features: lasting.features)
        lasting.variables.applied()
        lasting.transport.attach(proxy)
        lasting.credentials = CredentialMarks(in: store)
        lasting.credentials.adopt(by: proxy)
        state = Lock(lasting)
        lasting.host.attach(self)
        isMade = true
        settleCredentials(in: store)
        lasting.variables.onChange { [weak self] names in await self?.apply(changed: names) }
    }

    /// Applies `settings`, as far as a running process can. Returns the names of the settings that were changed and
    /// need a restart; when it throws, nothing has changed.
    @discardableResult
    package func reload(_ settings: Settings) throws -> [String] {
        let (applied, waiting) = SettingsCatalogue.reloaded(proxy.configuration.settings, as: settings)
        try configuring { lasting in
            // A reload that is refused in the middle must leave nothing behind: the next change of a variable would apply it.
            var prepared = lasting
            prepared.users = try Daemon.gate(applied.access, after: lasting.users)
            try prepared.prepareTLS(applied)
            try prepared.serve(applied.tls)
            try proxy.interception.prepare(for: applied, now: proxy.now)
            proxy.interception.forgetRefusals()
            lasting = prepared
            lasting.variables.declare(applied.variables, renewals: lasting.renewals(applied), at: proxy.now)
            // Applied under the lock, so that an older configuration cannot replace a newer one.
            proxy.apply(Daemon.configuration(applied, &lasting, asksPrograms: true))
            lasting.variables.applied()
            lasting.credentials.adopt(by: proxy)
        }
        settleCredentials(in: proxy.diskTier?.store)
        return waiting
    }

    /// Writes the statistics for the next run. Not on a loop: it blocks on the disk.
    @concurrent package func keepStatistics() async {
        if let statistics, let kept = history.kept(proxy) { statistics.write(kept) }
    }

    // MARK: Variables

    /// Applies the current values of these variables on every loop. For services that depend on them, removes responses
    /// fetched with the old values, and prevents loads in flight from being stored.
    ///
    /// Not on a loop: what is removed may be much, and a file is written.
    @concurrent private func apply(changed names: [String]) async {
        configuring { lasting in
            let current = proxy.configuration
            proxy.apply(
                Daemon.configuration(current.settings, &lasting) { name in
                    // Services that do not use them are kept, with everything computed for them.
                    current.router.table.named(name).flatMap { $0.uses(names) ? nil : $0 }
                })
            lasting.credentials.adopt(by: proxy)
        }
        settleCredentials(in: proxy.diskTier?.store)
        await proxy.settle()
    }

    /// Notes that what was stored with former credentials is gone, once it is gone from the disk.
    private func settleCredentials(in store: SQLiteStore?) {
        guard let store else { return }
        let open = state.withLock { $0.credentials.open }
        guard !open.isEmpty else { return }
        Task { [weak self] in
            guard await store.removalsEnd() else { return }
            self?.state.withLock { $0.credentials.close(open) }
        }
    }

    /// True if this thread is making a configuration, which programs are asked for theirs in: another would wait for it.
    var isConfiguring: Bool { maker.withLock { $0 == Thread.current } }

    private func configuring<Result>(_ body: (inout Lasting) throws -> Result) rethrows -> Result {
        try state.withLock { lasting in
            maker.withLock { $0 = Thread.current }
            defer { maker.withLock { $0 = nil } }
            return try body(&lasting)
        }
    }

    /// Configures one service again, by what its program has said; the others are kept.
    func configureAgain(_ name: String) {
        configuring { lasting in
            let current = proxy.configuration
            proxy.apply(
                Daemon.configuration(current.settings, &lasting) { other in
                    other.lowercased() == name.lowercased() ? nil : current.router.table.named(other)
                })
            lasting.credentials.adopt(by: proxy)
        }
        settleCredentials(in: proxy.diskTier?.store)
    }

    private static func openStore(_ settings: Settings, time: any TimeSource, logger: Logger) throws -> SQLiteStore? {
        guard let path = settings.cache.path.path, settings.cache.disk.bytes > 0 else { return nil }
        let directory = path.hasSuffix(".db") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) : path
        if let stranger = StorePlace.stranger(in: directory) {
            throw StorePlace.refusal(of: directory, for: stranger)
        }
        var store = StoreSettings(
            path: directory.isEmpty ? "." : directory, diskLimit: Int64(settings.cache.disk.bytes),
            now: { Timestamp(nanoseconds: time.now()) })
        store.inlineLimit = settings.cache.inlineLimit.bytes
        store.maxObject = Int64(settings.cache.maxObject.bytes)
        store.queueLimit = 24 << 20
        let log = StoreLog(logger, time)
        return try SQLiteStore.open(store) { log.note($0) }
    }

    /// - Parameters:
    ///   - asksPrograms: whether programs say the configuration of their services again; otherwise they have it as the
    ///     last time.
    ///   - kept: the service of that name, if it is unchanged.
    private static func configuration(
        _ settings: Settings, _ lasting: inout Lasting, asksPrograms: Bool = false,
        keeping kept: (String) -> RoutedService? = { _ in nil }
    ) -> ProxyConfiguration {
        let (identities, pseudonym) = (lasting.identities, lasting.pseudonym)
        let variables = lasting.variables.values
        let features = lasting.features
        func routed(_ service: ServiceSettings, isUnclaimed: Bool) -> RoutedService {
            if !isUnclaimed, let kept = kept(service.name) { return kept }
            var service = service
            service.offline = service.offline ?? settings.offline
            let (model, number) = lasting.service(
                service.name, base: isUnclaimed ? nil : service.baseURL.target.string)
            if asksPrograms { service.askProgram(about: model) }
            model.replaceConfiguration(with: service.entries(variables, settings, for: model))
            let named = isUnclaimed ? nil : service
            return RoutedService(
                model, number: number, settings: service,
                // Unclaimed traffic too: the origin distinguishes caches from browsers, and Larder is not a browser.
                targets: settings.cache.targets, retryAfterLimit: settings.upstream.retryAfterLimit,
                identities: identities,
                invalidations: lasting.invalidations,
                surrogateKey: settings.cache.surrogateKey.map {
                    SurrogateKey($0, isHidden: settings.cache.hideSurrogateKey)
                },
                stages: Stages(features.compactMap { $0.stage(for: service, isUnclaimed: isUnclaimed) }),
                variables: variables, tls: lasting.tls(of: service),
                parent: { uri in settings.parentProxy(for: named, origin: uri) })
        }
        var unclaimed = ServiceSettings()
        unclaimed.name = "-"
        let table = ServiceTable(
            services: settings.services.map { routed($0, isUnclaimed: false) },
            unclaimed: routed(unclaimed, isUnclaimed: true))
        lasting.forgetConfigurations(ofAllBut: table)
        let router = Router(
            table: table, connectPorts: settings.tunnels.ports, hosts: settings.gateway.hosts,
            gatewayToAnyHost: settings.gateway.anyHost, forwardsToAnyHost: settings.forward.anyHost,
            tunnelsToLoopback: settings.tunnels.loopback)
        var upstream = UpstreamSettings(tls: lasting.tls)
        upstream.connectTimeout = settings.timeouts.connect
        upstream.silenceTimeout = settings.timeouts.upstream
        upstream.idleTimeout = settings.timeouts.upstreamIdle
        upstream.restTime = settings.timeouts.upstreamRest
        upstream.breaker.failures = settings.upstream.breaker.failures
        upstream.breaker.longest = settings.upstream.breaker.openFor.wholeNanoseconds
        upstream.retryAfterLimit = settings.upstream.retryAfterLimit
        upstream.connectionLimit = settings.limits.upstreamConnections
        upstream.idleConnections = idleConnections(ofLoops: settings.threads ?? Proxy.processorCount)
        upstream.onObstacle = { [interception = lasting.interception, retreat = settings.intercept.retreat] in
            interception.note($1, of: $0, now: $2, for: retreat)
        }
        return ProxyConfiguration(
            settings: settings, router: router, pseudonym: pseudonym, upstreamSettings: upstream,
            variables: lasting.variables, tls: lasting.clientTLS,
            clientAuthorities: lasting.clientAuthorities.digest, users: lasting.users)
    }

    /// How many idle connections each loop may keep: a quarter of the files that the process may open, all together.
    private static func idleConnections(ofLoops count: Int) -> Int {
        let files = sysconf(Int32(_SC_OPEN_MAX))
        return files < 0 ? .max : max(16, files / 4 / count)
    }

    /// Throws if the users cannot be read: access without authentication is never granted.
    ///
    /// - Parameter former: the current gate, which is kept if the users have not changed.
    private static func gate(_ access: Settings.Access, after former: UserGate?) throws(IOError) -> UserGate? {
        guard let path = access.users else { return nil }
        guard let table = access.userTable else {
            throw IOError(
                .permissionDenied, operation: "read the users of `access.users`",
                detail: "this user may not read \(path)")
        }
        // Clients' passwords are in memory from now on.
        CoreDumps.refuse()
        if let former, former.table == table { return former }
        return UserGate(table, after: former)
    }
}

extension ServiceSettings {
    /// The service's own settings, then the settings of the program that declares it, then its blocks. Later entries
    /// override earlier ones.
    fileprivate func entries(
        _ variables: VariableValues, _ settings: Settings, for model: Service
    ) -> [ConfigurationEntry] {
        let offline = offline ?? .off
        let transformedContent = settings.limits.transformedContent.bytes
        let abandon = settings.timeouts.abandon
        let history = history
        let codings = settings.codings
        let privacy = Configuration.Privacy(rawValue: privacy.rawValue) ?? .shared
        let own = ConfigurationEntry(description: "service \(name)") {
            $0.transformedSizeLimit = transformedContent
            addStandardTransformers(to: &$0)
            $0.offline = offline
            $0.codings = codings
            $0.history = history
            $0.privacy = privacy
            $0.onAbandon = .cancel(after: abandon)
        }
        let declared =
            declare == nil
            ? []
            : model.declaredEntries.map { $0.namingTransformedMethods(besides: Service.transformedMethods) }
        return [own] + declared
            + configure.map {
                ConfigurationEntry($0, relativeTo: baseURL.target, variables: variables)
            }
    }

    /// Asks the program for the configuration of its service.
    fileprivate func askProgram(about model: Service) {
        if let declare { model.collect(from: declare) } else { model.forgetDeclaration() }
    }
}
