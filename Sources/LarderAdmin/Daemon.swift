// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderIO
package import LarderProxy
import LarderRules
import LarderStores
import LarderUpstream
package import Logging

/// The daemon: settings become services, a store and a proxy, which it starts, reloads and stops.
package final class Daemon: Sendable {
    package let proxy: Proxy
    private let identities: IdentityDigest
    private let tls: TLSClientContext
    private let pseudonym: String
    private let state: Lock<State>

    private struct State {
        var version: UInt64 = 0
        /// The numbers of services by name, so that a reload keeps what they have stored in memory.
        var numbers: [String: UInt32] = [:]
    }

    package static let version = "0.1.0"

    package init(settings: Settings, logger: Logger) throws {
        let time = SystemTime()
        tls = try TLSClientContext(caFile: settings.upstream.caFile)
        // Random, so that several Larders in a chain tell each other apart.
        let pseudonym = "larder-" + String(UInt32.random(in: .min ... .max), radix: 36)
        self.pseudonym = pseudonym
        identities = .ephemeral()
        state = Lock(State())
        let store = try Daemon.openStore(settings, time: time, logger: logger)
        let configuration = Daemon.configuration(settings, identities, tls, pseudonym, state)
        proxy = try Proxy(
            configuration: configuration,
            storing: store.map { Storing(store: $0, via: "1.1 \(pseudonym)", maxObject: Int64(settings.cache.maxObject.bytes)) },
            pages: AdminPages(token: settings.admin.token, version: Daemon.version), logger: logger, time: time)
    }

    /// Serves by `settings` from now on.
    package func reload(_ settings: Settings) {
        proxy.apply(Daemon.configuration(settings, identities, tls, pseudonym, state))
    }

    private static func openStore(_ settings: Settings, time: SystemTime, logger: Logger) throws -> SQLiteStore? {
        guard let path = settings.cache.path.path, settings.cache.disk.bytes > 0 else { return nil }
        let directory = path.hasSuffix(".db") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) : path
        var store = StoreSettings(
            path: directory.isEmpty ? "." : directory, diskLimit: Int64(settings.cache.disk.bytes),
            now: { Timestamp(nanoseconds: time.now()) })
        store.inlineLimit = settings.cache.inlineLimit.bytes
        store.maxObject = Int64(settings.cache.maxObject.bytes)
        store.queueLimit = 24 << 20
        return try SQLiteStore.open(store) { event in
            logger.warning("store", metadata: ["event": "\(event)"])
        }
    }

    private static func configuration(
        _ settings: Settings, _ identities: IdentityDigest, _ tls: TLSClientContext, _ pseudonym: String,
        _ state: borrowing Lock<State>
    ) -> ProxyConfiguration {
        let (version, numbers) = state.withLock { state -> (UInt64, [String: UInt32]) in
            state.version += 1
            for service in settings.services where state.numbers[service.name] == nil {
                state.numbers[service.name] = UInt32(state.numbers.count + 1)
            }
            return (state.version, state.numbers)
        }
        func routed(_ service: ServiceSettings, number: UInt32, isUnclaimed: Bool) -> RoutedService {
            var policy = isUnclaimed ? CachePolicy() : .service
            // The field speaks to caches in front of an origin, which a forward proxy for anything is not.
            policy.targets = isUnclaimed ? [] : settings.cache.targets
            if service.privacy != .shared { policy.role = .private }
            policy.offline = service.offline
            let named = isUnclaimed ? nil : service
            return RoutedService(
                number: number, settings: service, isUnclaimed: isUnclaimed, policy: policy, version: version,
                identities: identities,
                parent: { uri in settings.parentProxy(for: named, origin: uri).map(ParentAddress.init) })
        }
        var unclaimed = ServiceSettings()
        unclaimed.name = "-"
        let table = ServiceTable(
            services: settings.services.map { routed($0, number: numbers[$0.name] ?? 0, isUnclaimed: false) },
            unclaimed: routed(unclaimed, number: 0, isUnclaimed: true))
        let router = Router(
            table: table, connectPorts: settings.tunnels.ports, hosts: [], allowsAnyHost: settings.gateway.anyHost)
        var upstream = UpstreamSettings(tls: tls)
        upstream.connectTimeout = settings.timeouts.connect
        upstream.silenceTimeout = settings.timeouts.upstream
        upstream.idleTimeout = settings.timeouts.upstreamIdle
        upstream.connectionLimit = settings.limits.upstreamConnections
        return ProxyConfiguration(settings: settings, router: router, pseudonym: pseudonym, upstreamSettings: upstream)
    }
}

extension ParentAddress {
    fileprivate init(_ address: ProxyAddress) {
        let credentials = address.credentials.map { "Basic " + Data($0.reveal().utf8).base64EncodedString() }
        self.init(host: address.host, port: address.port, authorization: credentials)
    }
}
