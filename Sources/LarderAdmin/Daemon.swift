// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
package import LarderIO
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
    private let transport = ProxyTransport()
    private let state: Lock<State>

    private struct State {
        /// Services by name with their numbers, so that a reload keeps what they have in memory.
        var services: [String: (service: Service, number: UInt32)] = [:]
    }

    package static let version = "0.1.0"

    package init(settings: Settings, logger: Logger, time: any TimeSource = SystemTime()) throws {
        tls = try TLSClientContext(trustsSystem: settings.upstream.caFile == nil, authorityFile: settings.upstream.caFile)
        // Random, so that several Larders in a chain tell each other apart.
        let pseudonym = "larder-" + String(UInt32.random(in: .min ... .max), radix: 36)
        self.pseudonym = pseudonym
        identities = .ephemeral()
        state = Lock(State())
        let store = try Daemon.openStore(settings, time: time, logger: logger)
        proxy = try Proxy(
            configuration: Daemon.configuration(settings, identities, tls, pseudonym, state, transport),
            storing: store.map { Storing(store: $0, via: "1.1 \(pseudonym)", maxObject: Int64(settings.cache.maxObject.bytes)) },
            pages: AdminPages(token: settings.admin.token, version: Daemon.version), logger: logger, time: time)
        transport.attach(proxy)
    }

    /// Serves by `settings` from now on.
    package func reload(_ settings: Settings) {
        proxy.apply(Daemon.configuration(settings, identities, tls, pseudonym, state, transport))
    }

    private static func openStore(_ settings: Settings, time: any TimeSource, logger: Logger) throws -> SQLiteStore? {
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
        _ state: Lock<State>, _ transport: ProxyTransport
    ) -> ProxyConfiguration {
        func routed(_ service: ServiceSettings, isUnclaimed: Bool) -> RoutedService {
            let base = isUnclaimed ? nil : service.baseURL.target.string
            let (model, number) = state.withLock { state in
                if let known = state.services[service.name], known.service.baseURL?.string == base { return known }
                var defaults = Configuration()
                defaults.expirationMode = .heuristic
                defaults.staleIfError = .seconds(86_400)
                let made = (
                    service: Service(
                        service.name, baseURL: base, standardTransformers: [], transport: transport, defaults: defaults),
                    number: UInt32(state.services.count)
                )
                state.services[service.name] = made
                return made
            }
            model.replaceConfiguration(with: service.entries)
            let named = isUnclaimed ? nil : service
            return RoutedService(
                model, number: number, settings: service,
                // The field speaks to caches in front of an origin, which a forward proxy for anything is not.
                targets: isUnclaimed ? [] : settings.cache.targets, identities: identities,
                parent: { uri in settings.parentProxy(for: named, origin: uri).map(ParentAddress.init) })
        }
        var unclaimed = ServiceSettings()
        unclaimed.name = "-"
        let table = ServiceTable(
            services: settings.services.map { routed($0, isUnclaimed: false) },
            unclaimed: routed(unclaimed, isUnclaimed: true))
        let router = Router(
            table: table, connectPorts: settings.tunnels.ports, hosts: settings.gateway.hosts,
            gatewayToAnyHost: settings.gateway.anyHost, forwardsToAnyHost: settings.forward.anyHost)
        var upstream = UpstreamSettings(tls: tls)
        upstream.connectTimeout = settings.timeouts.connect
        upstream.silenceTimeout = settings.timeouts.upstream
        upstream.idleTimeout = settings.timeouts.upstreamIdle
        upstream.connectionLimit = settings.limits.upstreamConnections
        return ProxyConfiguration(settings: settings, router: router, pseudonym: pseudonym, upstreamSettings: upstream)
    }
}

extension ServiceSettings {
    /// The service's own words, then its blocks: later ones override earlier ones.
    fileprivate var entries: [ConfigurationEntry] {
        let isOffline = offline
        let privacy = Configuration.Privacy(rawValue: privacy.rawValue) ?? .shared
        let own = ConfigurationEntry(description: "service \(name)") {
            $0.isOffline = isOffline
            $0.privacy = privacy
        }
        return [own] + configure.map { ConfigurationEntry($0, relativeTo: baseURL.target) }
    }
}

extension ParentAddress {
    fileprivate init(_ address: ProxyAddress) {
        let credentials = address.credentials.map { "Basic " + Data($0.reveal().utf8).base64EncodedString() }
        self.init(host: address.host, port: address.port, authorization: credentials)
    }
}
