// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings
import LarderStores
import LarderUpstream

extension Daemon {
    /// State that outlives a reload, and the inputs of configurations.
    struct Lasting: Sendable {
        let transport = ProxyTransport()
        let host = DaemonHost()
        /// The Resources of all services.
        let registry: Registry
        let variables = VariableStore()
        /// The clock of services.
        var clock: any ModelClock = SystemModelClock()
        let pseudonym = Pseudonym()
        var identities = IdentityDigest.ephemeral()
        var credentials = CredentialMarks(in: nil)
        var interception = Interception()
        /// The parts of the daemon beside the core.
        var features: [any Feature] = []
        /// The gate that authenticates the users of the proxy.
        var users: UserGate?
        private(set) var tls: TLSClientContext
        /// The inputs of `tls`.
        private var trust: Trust
        /// The TLS settings of services that have their own, with their inputs.
        private var serviceTLS: [ServiceTLS: (made: ServiceTrust, tls: UpstreamTLS)] = [:]
        /// The TLS settings for clients of `tls.listen`.
        private(set) var clientTLS: TLSServerContext?
        /// The CAs that may sign clients' certificates, as of the creation of `clientTLS`.
        private(set) var clientAuthorities = FileState(nil)
        /// Services with their numbers, so that a reload keeps their memory and the values that programs have of them.
        /// Removed services stay here, as they may return.
        private var services: [Place: (service: Service, number: UInt32)] = [:]
        /// Invalidations remain in force across reloads.
        let invalidations = Invalidations()
        /// A number is used once: resources under it may still be in memory.
        private var nextNumber: UInt32 = 0

        /// A service with the same name and base URL is the same after a reload.
        private struct Place: Hashable {
            let name: String
            let base: String?
        }

        struct Trust: Hashable {
            let caFile: String?
            let systemTrust: Bool
            let authorities: FileState

            init(_ upstream: Settings.Upstream) {
                caFile = upstream.caFile
                systemTrust = upstream.systemTrust
                authorities = FileState(upstream.caFile)
            }
        }

        struct ServiceTrust: Hashable {
            let trust: Trust
            let own: ServiceTLS
            let certificate: FileState
            let others: [FileState]

            init(_ trust: Trust, _ own: ServiceTLS) {
                self.trust = trust
                self.own = own
                certificate = FileState(own.certificate)
                others = [own.caFile, own.key].map { FileState($0) }
            }
        }

        init(_ settings: Settings) throws {
            registry = Registry(limit: settings.cache.memory.bytes)
            trust = Trust(settings.upstream)
            tls = try TLSClientContext(
                trustsSystem: trust.systemTrust, authorityFiles: [trust.caFile].compactMap(\.self))
            try prepareTLS(settings)
            try serve(settings.tls)
        }

        /// There will be no daemon.
        func giveUp() {
            host.giveUp()
            transport.giveUp()
        }

        /// Reads certificate and key for clients, which may have been renewed under the same names.
        mutating func serve(_ settings: Settings.TLS) throws(IOError) {
            guard !settings.listen.isEmpty, let certificate = settings.certificate, let key = settings.key else {
                (clientTLS, clientAuthorities) = (nil, FileState(nil))
                return
            }
            let authorities = FileState(settings.clientCA)
            clientTLS = try TLSServerContext(
                identities: [TLSIdentityFiles(certificate: certificate, key: key)] + settings.certificates,
                clientAuthorityFile: settings.clientCA)
            clientAuthorities = authorities
            CoreDumps.refuse()
        }

        /// Creates the TLS contexts that are missing. When the content of a file has changed, its context is replaced:
        /// existing connections keep the old one.
        mutating func prepareTLS(_ settings: Settings) throws {
            let wanted = Trust(settings.upstream)
            var tls = tls
            if wanted != trust {
                tls = try TLSClientContext(
                    trustsSystem: wanted.systemTrust, authorityFiles: [wanted.caFile].compactMap(\.self))
            }
            var made: [ServiceTLS: (made: ServiceTrust, tls: UpstreamTLS)] = [:]
            for service in settings.services where service.tls != ServiceTLS() && made[service.tls] == nil {
                let state = ServiceTrust(wanted, service.tls)
                if let known = serviceTLS[service.tls], known.made == state {
                    made[service.tls] = known
                    continue
                }
                let context = try TLSClientContext(
                    trustsSystem: wanted.systemTrust,
                    authorityFiles: [wanted.caFile, service.tls.caFile].compactMap(\.self),
                    certificateFile: service.tls.certificate, keyFile: service.tls.key)
                made[service.tls] = (
                    state,
                    UpstreamTLS(
                        context, serverName: service.tls.serverName, certificate: state.certificate.digest)
                )
            }
            (self.tls, trust, serviceTLS) = (tls, wanted, made)
        }

        /// The TLS settings for the origin of a service; nil for the common ones.
        func tls(of service: ServiceSettings) -> UpstreamTLS? {
            serviceTLS[service.tls]?.tls
        }

        /// The refreshes of all services.
        func renewals(_ settings: Settings) -> [Renewal] {
            settings.services.flatMap { $0.renewals(certificate: tls(of: $0)?.certificate) }
        }

        /// The service of that name and base URL.
        mutating func service(_ name: String, base: String?) -> (service: Service, number: UInt32) {
            let place = Place(name: name, base: base)
            if let known = services[place] { return known }
            var defaults = Configuration()
            defaults.expirationMode = .heuristic
            defaults.staleIfError = .seconds(86_400)
            let made = (
                service: Service(
                    name, baseURL: base, standardTransformers: [], transport: transport, defaults: defaults,
                    clock: clock),
                number: nextNumber
            )
            made.service.attach(host)
            made.service.move(to: ResourceHome(registry, number: nextNumber, invalidations: invalidations))
            nextNumber += 1
            services[place] = made
            return made
        }

        /// Releases the configurations of services that are no longer in the configuration.
        func forgetConfigurations(ofAllBut table: ServiceTable) {
            let present = Set(table.all.map { ObjectIdentifier($0.service) })
            for (service, _) in services.values where !present.contains(ObjectIdentifier(service)) {
                service.forgetConfiguration()
            }
        }
    }
}

/// Detects changes of a file by its content: a renewed certificate has the name of the old one.
struct FileState: Hashable {
    /// The digest of the file's content, as text; nil if the file is missing or cannot be read.
    let digest: String?
    private static let sizeLimit = 16 << 20

    init(_ path: String?) { digest = path.flatMap { FileState.digest(of: $0) } }

    private static func digest(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let hashing = ContentDigest.Hashing()
        var octets = [UInt8](repeating: 0, count: 64 << 10)
        var total = 0
        while total < sizeLimit {
            let count = read(descriptor, &octets, octets.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            octets.withUnsafeBytes { hashing.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            total += count
        }
        return hashing.finish().hexadecimal
    }
}

/// The secret that makes the names of partitions meaningless to readers of the store (T-03). It is a file beside the
/// store with the same lifetime: without it, responses stored for one user are never found again.
enum InstallationKey {
    static let fileName = "identity.key"
    private static let length = 32

    /// The key of a store's directory, created at the first start, and again if its file is deleted meanwhile.
    ///
    /// A key file that is invalid, or that other users can read, is replaced: its partitions become unreachable, and
    /// are never mixed.
    static func digest(in store: SQLiteStore) throws(StoreError) -> IdentityDigest {
        let key = try store.keepFile(fileName, count: length) { (0..<length).map { _ in .random(in: .min ... .max) } }
        return IdentityDigest(key: key)
    }
}
