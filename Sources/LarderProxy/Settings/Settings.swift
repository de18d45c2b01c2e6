// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO
package import Logging

/// What the daemon was told: every value of the configuration, read once and passed down.
///
/// The initial values are the defaults; `SettingsCatalogue` names, bounds and explains each of them. A value that
/// depends on where the daemon runs (a path, the environment's proxies) is `automatic` here and is replaced by
/// `SettingsLoader` before anyone else sees it.
package struct Settings: Sendable {
    package var listen = [ListenAddress.loopback4(3128), ListenAddress.loopback6(3128)]
    /// Number of event loops; nil means one per core.
    package var threads: Int?
    package var admin = Admin()
    package var cache = Cache()
    package var timeouts = Timeouts()
    package var limits = Limits()
    package var log = Log()
    package var upstream = Upstream()
    package var tunnels = Tunnels()
    package var intercept = Intercept()
    package var tls = TLS()
    package var access = Access()
    package var gateway = Gateway()
    package var forward = Forward()
    /// Whether requests sent inbound say for whom they are (RFC 7239).
    package var forwarded = Forwarded.none
    /// Whether origins are asked, where neither a service nor a block says anything else.
    package var offline = OfflineMode.off
    /// In the order of the file; names are unique.
    package var variables: [VariableSettings] = []
    /// In the order of the file; names are unique.
    package var services: [ServiceSettings] = []

    package init() {}

    package struct Admin: Sendable {
        /// The Unix socket of the admin surface; its file permissions are the authorisation.
        package var socket = FileLocation.automatic
        /// Who may use it, as chmod(2) counts.
        package var socketMode = FileMode(0o600)
        /// The group that is meant by that; nil for the daemon's own.
        package var socketGroup: String?
        /// Where the admin surface alone is served over TCP.
        package var listen: [ListenAddress] = []
        /// The bearer token that authorises changes over TCP; nil means that none does.
        package var token: Secret?
    }

    package struct Cache: Sendable {
        /// The database; content files lie in a directory beside it. `none` keeps nothing on disk.
        package var path = FileLocation.automatic
        /// Bound of everything on disk: database, write-ahead log and content files.
        package var disk = ByteCount.gibibytes(10)
        /// Bound of the Resources held in memory.
        package var memory = ByteCount.mebibytes(256)
        /// Content up to this size is kept in the database, larger content in files.
        package var inlineLimit = ByteCount.kibibytes(64)
        /// Content larger than this passes through unstored.
        package var maxObject = ByteCount.gibibytes(1)
        /// The targeted cache control fields that are obeyed, first one wins (RFC 9213 §2.2).
        package var targets: [FieldName] = [.cdnCacheControl]
        /// The field in which origins name groups besides `Cache-Groups`.
        package var surrogateKey: FieldName?
        package var hideSurrogateKey = false
    }

    package struct Timeouts: Sendable {
        /// From the first octet of a request head to its last.
        package var head = Duration.seconds(15)
        /// A client connection between requests.
        package var idle = Duration.seconds(75)
        /// A client that stopped sending the content of its request.
        package var body = Duration.seconds(60)
        /// A client that stopped taking what it is sent.
        package var write = Duration.seconds(60)
        /// Name resolution, connection and TLS handshake with an origin, together.
        package var connect = Duration.seconds(10)
        /// An origin that has gone silent, before its head or inside its content.
        package var upstream = Duration.seconds(60)
        /// A connection to an origin that waits in the pool.
        package var upstreamIdle = Duration.seconds(60)
        /// How long a connection to an origin rests after a response before it carries another request.
        package var upstreamRest = Duration.milliseconds(1)
        /// A tunnel on which nothing moves.
        package var tunnelIdle = Duration.seconds(600)
        /// What running exchanges are given to end after SIGTERM.
        package var drain = Duration.seconds(30)
        /// How long a request to an origin outlives the last client that wanted it.
        package var abandon = Duration.milliseconds(50)

        /// How long a client may pause inside the content of its request: no longer than between two requests.
        package var content: Duration { min(body, idle) }
    }

    package struct Limits: Sendable {
        /// Client connections open at once, over all loops.
        package var connections = 10_000
        /// Of these, open at once from one client's address; nil for half of them, or 100 if that is more.
        package var clientConnections: Int?
        /// Requests that wait for origins, and tunnels, at once from one client's address on the network; nil for half of
        /// `upstreamConnections`, or 16 if that is more.
        package var clientRequests: Int?
        /// Connections beyond `connections` for operators and supervisors.
        package var reservedConnections = 32
        /// Octets of a message head: start line and header section.
        package var headSize = ByteCount.kibibytes(64)
        /// Field lines in a header or trailer section.
        package var fieldLines = 200
        /// Octets of a request target.
        package var targetLength = ByteCount.kibibytes(16)
        /// Connections to one origin, in use and idle.
        package var upstreamConnections = 256
        /// Tunnels open at once, over all loops.
        package var tunnels = 1_000
        /// Octets of content that transformers are given, and of what they may make of it.
        package var transformedContent = ByteCount.mebibytes(16)
        /// Octets of content that is collected for transformers at one time, over all loops.
        package var transforming = ByteCount.mebibytes(256)

        /// How many connections one client may have.
        var connectionsOfClient: Int { min(clientConnections ?? max(100, connections / 2), connections) }
        /// How many requests to origins one client of the network may have under way.
        var requestsOfClient: Int { clientRequests ?? max(16, upstreamConnections / 2) }
    }

    package struct Log: Sendable {
        package var level = Logger.Level.info
        /// Whether each exchange leaves a line.
        package var access = false
        package var format = LogFormat.text
        /// The form of these lines.
        package var accessFormat = AccessFormat.standard
        /// Where they go; nil for the log itself.
        package var accessFile: String?
    }

    package struct Upstream: Sendable {
        /// PEM certificates trusted beside the system's.
        package var caFile: String?
        /// Whether the authorities that the system trusts are trusted.
        package var systemTrust = true
        /// Through which proxy origins are reached where a service names none.
        package var parent = ParentProxy.environment
        /// Hosts that are reached without `parent`.
        package var noProxy: [HostPattern] = []
        /// What `parent: environment` means in this process; filled in by `SettingsLoader`.
        package var environment = EnvironmentProxies()
        package var breaker = Breaker()
        /// The longest that an origin is left alone because it asked for it.
        package var retryAfterLimit = Duration.seconds(60)
    }

    /// When an origin that fails is left alone.
    package struct Breaker: Sendable {
        /// Failures in a row; 0 asks it each time.
        package var failures = 5
        /// The longest time between two attempts to find out whether it works again.
        package var openFor = Duration.seconds(10)
    }

    package struct Tunnels: Sendable {
        /// Ports that CONNECT may name. Loopback clients reach loopback hosts on all ports from 1024 besides.
        package var ports = [PortRange(443)]
        /// Whether CONNECT leads to this machine.
        package var loopback = true
    }

    /// Whose https Larder answers in the origin's place, so that it can be cached.
    package struct Intercept: Sendable {
        package var hosts: [HostPattern] = []
        /// Hosts that are never opened.
        package var except: [HostPattern] = []
        /// Whether the hosts of https services are opened, once there is a local authority.
        package var services = false
        /// How long a client that does not trust the local authority is left alone; 0 never does.
        package var retreat = Duration.seconds(3_600)
    }

    /// Where clients are accepted over TLS.
    package struct TLS: Sendable {
        package var listen: [ListenAddress] = []
        /// PEM files: the certificate with those of its issuers behind it, and its key.
        package var certificate: String?
        package var key: String?
        /// Further ones, for clients that ask for their hosts.
        package var certificates: [TLSIdentityFiles] = []
        /// A PEM file with the authorities that sign clients' certificates; without it none is asked for.
        package var clientCA: String?
    }

    package struct Access: Sendable {
        /// Clients that are served although they are not on a loopback address.
        package var allow: [AddressRange] = []
    }

    package struct Forward: Sendable {
        /// Whether requests in absolute-form may name any host, or only those of services.
        package var anyHost = true
    }

    package struct Gateway: Sendable {
        /// Whether loopback clients may name any host as `/https/<host>/…` and `/http/<host>/…`.
        package var anyHost = true
        /// Names that gateway requests may be addressed to, besides loopback names and our own addresses.
        package var hosts: [HostPattern] = []
    }
}

/// Where a file of the daemon's own is.
package enum FileLocation: Sendable, Equatable {
    /// Where such a file belongs for this user on this machine.
    case automatic
    case none
    case path(String)

    /// The path, once `automatic` has been replaced.
    package var path: String? {
        if case .path(let path) = self { path } else { nil }
    }
}

/// What a log line looks like.
package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// What a line about an exchange looks like.
package enum AccessFormat: String, Sendable, CaseIterable {
    case standard
    /// The combined log format of web servers.
    case combined
    /// The native format of Squid's access.log.
    case squid
}

/// What the `Forwarded` field of a request becomes on its way inbound (RFC 7239).
package enum Forwarded: String, Sendable, CaseIterable {
    /// Nobody is told anything.
    case none
    /// One element names the client's address, scheme and host.
    case add
}
