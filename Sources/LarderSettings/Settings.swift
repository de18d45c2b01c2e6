// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO
package import LarderRules
package import LarderUpstream
package import Logging

/// The daemon's settings: every value of the configuration, read once and passed down.
///
/// The initial values are the defaults; `SettingsCatalogue` names, bounds and explains each of them. A value that
/// depends on the environment (a path, the environment's proxies) is `automatic` here and is replaced by
/// `SettingsLoader` first.
package struct Settings: Sendable {
    package var listen = [SocketAddress.loopback(port: 3128), .loopbackIPv6(port: 3128)]
    /// Number of event loops; nil means one per core.
    package var threads: Int?
    package var admin = Admin()
    package var cache = Cache()
    package var sharedCache = SharedCacheSettings()
    package var timeouts = Timeouts()
    package var limits = Limits()
    package var log = Log()
    package var trace = Trace()
    package var upstream = Upstream()
    package var tunnels = Tunnels()
    package var intercept = Intercept()
    package var tls = TLS()
    package var access = Access()
    package var gateway = Gateway()
    package var forward = Forward()
    /// The identification of the client in requests sent inbound (RFC 7239).
    package var forwarded = Forwarded.none
    /// The offline mode, unless a service or a block has its own setting.
    package var offline = OfflineMode.off
    /// The codings in which stored content is offered, unless a block has its own setting.
    package var codings: [ServedCoding] = []
    /// In the order of the file; names are unique.
    package var variables: [VariableSettings] = []
    /// In the order of the file; names are unique.
    package var services: [ServiceSettings] = []

    package init() {}

    package struct Admin: Sendable {
        /// The Unix socket of the admin surface; its file permissions are the authorisation.
        package var socket = FileLocation.automatic
        /// The permissions of the socket, as in chmod(2).
        package var socketMode = FileMode(0o600)
        /// The group of the socket; nil for the daemon's own.
        package var socketGroup: String?
        /// True if all users of this machine may open lanes, over a second socket.
        package var lanes = true
        /// TCP addresses for the admin surface alone.
        package var listen: [SocketAddress] = []
        /// The bearer token that authorises changes over TCP; nil disallows them.
        package var token: Secret?
    }

    package struct Cache: Sendable {
        /// The database; content files are in a directory beside it. `none` stores nothing on disk.
        package var path = FileLocation.automatic
        /// Limit of everything on disk: database, write-ahead log and content files.
        package var disk = ByteCount.gibibytes(10)
        /// Limit of the Resources in memory.
        package var memory = ByteCount.mebibytes(256)
        /// Content up to this size is stored in the database, larger content in files.
        package var inlineLimit = ByteCount.kibibytes(64)
        /// Larger content is relayed without being stored.
        package var maxObject = ByteCount.gibibytes(1)
        /// The targeted cache control fields in use, first one wins (RFC 9213 §2.2).
        package var targets: [FieldName] = [.cdnCacheControl]
        /// The field in which origins name groups, besides `Cache-Groups`.
        package var surrogateKey: FieldName?
        package var hideSurrogateKey = false
    }

    package struct Timeouts: Sendable {
        /// From the first byte of a request head to its last.
        package var head = Duration.seconds(15)
        /// A client connection between requests.
        package var idle = Duration.seconds(75)
        /// A client that stopped sending the content of its request.
        package var body = Duration.seconds(60)
        /// A client that stopped reading.
        package var write = Duration.seconds(60)
        /// Name resolution, connection and TLS handshake with an origin, together.
        package var connect = Duration.seconds(10)
        /// An origin that has gone silent, before its head or inside its content.
        package var upstream = Duration.seconds(60)
        /// An idle connection to an origin in the pool.
        package var upstreamIdle = Duration.seconds(60)
        /// How long a connection to an origin stays idle after a response before its reuse.
        package var upstreamRest = Duration.milliseconds(1)
        /// A tunnel without traffic.
        package var tunnelIdle = Duration.seconds(600)
        /// The time for running exchanges to end after SIGTERM.
        package var drain = Duration.seconds(30)
        /// How long a request to an origin outlives the last client waiting for it.
        package var abandon = Duration.milliseconds(50)

        /// How long a client may pause while it sends content: no longer than between two requests.
        package var content: Duration { min(body, idle) }
    }

    package struct Limits: Sendable {
        /// Client connections open at once, over all loops.
        package var connections = 10_000
        /// Open connections from one client's address; nil for half of `connections`, or 100 if that is more.
        package var clientConnections: Int?
        /// Requests that wait for origins, and tunnels, at once from one client's address on the network; nil for half of
        /// `upstreamConnections`, or 16 if that is more.
        package var clientRequests: Int?
        /// Connections beyond `connections` for operators and supervisors.
        package var reservedConnections = 32
        /// Bytes of a message head: start line and header section.
        package var headSize = ByteCount.kibibytes(64)
        /// Field lines in a header or trailer section.
        package var fieldLines = 200
        /// Bytes of a request target.
        package var targetLength = ByteCount.kibibytes(16)
        /// Connections to one origin, in use and idle.
        package var upstreamConnections = 256
        /// Tunnels open at once, over all loops.
        package var tunnels = 1_000
        /// The limit on bytes of content for transformers, and on their output.
        package var transformedContent = ByteCount.mebibytes(16)
        /// Bytes of content that is collected for transformers at one time, over all loops.
        package var transforming = ByteCount.mebibytes(256)

        package init() {}

        /// The connection limit of one client.
        package var connectionsOfClient: Int { min(clientConnections ?? max(100, connections / 2), connections) }
        /// The limit on simultaneous requests to origins of one network client.
        package var requestsOfClient: Int { clientRequests ?? max(16, upstreamConnections / 2) }
    }

    package struct Log: Sendable {
        package var level = Logger.Level.info
        /// True if each exchange is logged.
        package var access = false
        package var format = LogFormat.text
        /// The format of these lines.
        package var accessFormat = AccessFormat.standard
        /// The file for these lines; nil for the log itself.
        package var accessFile: String?
    }

    /// The export of traces.
    package struct Trace: Sendable {
        /// The collector; nil for none.
        package var otlp: BaseURL?
        /// The share of requests without a trace that begin one.
        package var sample = 0.01
        package var serviceName = "larder"
        /// Fields of requests to the collector.
        package var headers: [HeaderEdit] = []
    }

    package struct Upstream: Sendable {
        /// PEM certificates trusted beside the system's.
        package var caFile: String?
        /// True if the system's trusted authorities are trusted.
        package var systemTrust = true
        /// The proxy through which origins are reached where a service names none.
        package var parent = ParentProxy.environment
        /// Hosts that are reached without `parent`.
        package var noProxy: [HostPattern] = []
        /// The proxies for `parent: environment` in this process; filled in by `SettingsLoader`.
        package var environment = ProxyRules()
        package var breaker = Breaker()
        /// The longest backoff by an origin's `Retry-After`.
        package var retryAfterLimit = Duration.seconds(60)
    }

    /// Backoff of failing origins.
    package struct Breaker: Sendable {
        /// Failures in a row; 0 disables backoff.
        package var failures = 5
        /// The longest time between two probes.
        package var openFor = Duration.seconds(10)
    }

    package struct Tunnels: Sendable {
        /// Ports that CONNECT may name. Loopback clients reach loopback hosts on all ports from 1024 besides.
        package var ports = [PortRange(443)]
        /// True if CONNECT leads to this machine.
        package var loopback = true
    }

    /// The https hosts that are intercepted, so that their responses can be cached.
    package struct Intercept: Sendable {
        package var hosts: [HostPattern] = []
        /// Hosts that are never intercepted.
        package var except: [HostPattern] = []
        /// True if the hosts of https services are intercepted, once there is a local authority.
        package var services = false
        /// How long connections of a client that does not trust the local authority are tunnelled; 0 disables this.
        package var retreat = Duration.seconds(3_600)
    }

    /// Listeners with TLS.
    package struct TLS: Sendable {
        package var listen: [SocketAddress] = []
        /// PEM files: the certificate followed by its chain, and its key.
        package var certificate: String?
        package var key: String?
        /// Further ones, selected by SNI.
        package var certificates: [TLSIdentityFiles] = []
        /// A PEM file with the authorities that sign clients' certificates; without it none are requested.
        package var clientCA: String?
    }

    package struct Access: Sendable {
        /// Clients beside those on a loopback address that are served.
        package var allow: [AddressRange] = []
        /// The file with the users of the proxy; nil if users do not authenticate.
        package var users: String?
        /// The content of that file; filled in by `SettingsLoader`.
        package var userTable: UserTable?

        package init() {}
    }

    package struct Forward: Sendable {
        /// True if requests in absolute-form may name any host; false if they may name hosts of services only.
        package var anyHost = true
    }

    package struct Gateway: Sendable {
        /// True if loopback clients may name any host as `/https/<host>/…` and `/http/<host>/…`.
        package var anyHost = true
        /// Names accepted in gateway requests, besides loopback names and our own addresses.
        package var hosts: [HostPattern] = []
    }
}

extension Settings {
    /// True if a listener has an IPv4 address at `port`: a listener at `[::]` then leaves IPv4 to it.
    package func listensOnIPv4(port: UInt16) -> Bool {
        // The system's choices differ from one another.
        port != 0
            && [listen, tls.listen, admin.listen].joined().contains { $0.port == port && $0.isIPv4 }
    }
}

/// The location of a file of the daemon's own.
package enum FileLocation: Sendable, Equatable {
    /// The standard location for this user on this machine.
    case automatic
    case none
    case path(String)

    /// The path, once `automatic` has been replaced.
    package var path: String? {
        if case .path(let path) = self { path } else { nil }
    }
}

/// The format of log lines.
package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// The format of access log lines.
package enum AccessFormat: String, Sendable, CaseIterable {
    case standard
    /// The combined log format of web servers.
    case combined
    /// The native format of Squid's access.log.
    case squid
}

/// How the `Forwarded` field of a request is changed on its way inbound (RFC 7239).
package enum Forwarded: String, Sendable, CaseIterable {
    /// The origin is told nothing about the client.
    case none
    /// One element names the client's address, scheme and host.
    case add
}
