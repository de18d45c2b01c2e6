// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Every setting of the daemon, once: all other keys are unknown.
package enum SettingsCatalogue {
    /// Reads a whole configuration; nil represents an absent configuration. The reader collects problems.
    package static func read(_ node: SettingNode?, _ reader: inout SettingsReader) -> Settings {
        var settings = Settings()
        if let node { root.read(node, into: &settings, &reader) }
        SettingsChecks.check(settings, &reader)
        SettingsWarnings.check(settings, &reader)
        return settings
    }

    /// The values in force, in the shape of the configuration and without secrets.
    package static func show(_ settings: Settings) -> ShownValue { root.show(settings) }

    /// The result of reloading `new` in a process with `old`: settings that need a restart keep their values. Also
    /// returns the names of the settings that changed and wait for a restart.
    package static func reloaded(_ old: Settings, as new: Settings) -> (settings: Settings, waiting: [String]) {
        var settings = new
        var waiting: [String] = []
        for setting in root.settings where !setting.about.isReloadable {
            if setting.show(old) != setting.show(new) { waiting.append(setting.name) }
            setting.copy(old, &settings)
        }
        return (settings, waiting)
    }

    /// All settings in the order of the reference page.
    package static var descriptions: [SettingDescription] { root.descriptions }

    package static let root = SettingsSection<Settings>(
        process + cache + sharedCache + timeouts + limits + log + trace + upstream + access + [
            Setting(
                "variables", \.variables, .variables, initially: "none", inside: variable.descriptions,
                """
                Values that may change while the daemon runs, by name. `${name}` stands for one in `headers` and in what \
                `decorate` sends, and takes precedence over an environment variable of that name. A field with a \
                variable that has no value is left out.
                """),
            Setting(
                "services", \.services, .services, initially: "none", inside: service.descriptions,
                """
                The APIs that have a configuration of their own, by name. A name is made of lower-case letters, \
                digits and `-`; the service is reached as `/<name>/…` and as `<name>.localhost`.
                """),
        ])

    private static let process: [Setting<Settings>] = [
        Setting(
            "listen", \.listen, .listenAddresses(count: 1...64), needsRestart: true,
            """
            The addresses and ports on which clients are accepted. `localhost` stands for both loopback addresses, \
            `[::]` for all addresses of this machine, or for those of IPv6 beside an IPv4 address with the same port; \
            port 0 lets the system choose.
            """),
        Setting(
            "tls.listen", \.tls.listen, .listenAddresses(count: 0...64), needsRestart: true,
            "The addresses and ports on which clients are accepted over TLS (1.2 and 1.3), for whatever `listen` is for."
        ),
        Setting(
            "tls.certificate", \.tls.certificate, .path, initially: "none",
            """
            A PEM file with the certificate that clients of `tls.listen` are shown, and those of its issuers behind it. It \
            is read again on reload.
            """),
        Setting(
            "tls.key", \.tls.key, .path, initially: "none",
            "The PEM file with the key of `tls.certificate`, without a passphrase."),
        Setting(
            "tls.certificates", \.tls.certificates, .identityFiles, initially: "none",
            """
            Further PEM files with certificates, and those with their keys (`FILE: KEY`), for clients that ask for their \
            hosts by SNI. They are read again on reload.
            """),
        Setting(
            "tls.clientCA", \.tls.clientCA, .path, initially: "none",
            """
            A PEM file with authorities. With one, clients of `tls.listen` have to prove who they are by a certificate \
            that one of these has signed; its subject is the `client` of `identity`. It is read again on reload.
            """),
        Setting(
            "threads", \.threads, .integer(1...1_024), initially: "one per core", needsRestart: true,
            "The number of event loops, each on a thread of its own."),
        Setting(
            "admin.socket", \.admin.socket, .location(upTo: 107),
            initially: "`larder.sock` in `$RUNTIME_DIRECTORY`, else in `$XDG_RUNTIME_DIR`, else in `/run/larder` for "
                + "root, else in `/tmp/larder-<uid>`",
            needsRestart: true,
            """
            The Unix socket on which the command line reaches the daemon. Anyone who may write to it may change what \
            is stored. `none` opens none.
            """),
        Setting(
            "admin.socketMode", \.admin.socketMode, .fileMode, needsRestart: true,
            "The mode of the Unix socket, as for chmod: `0660` lets the members of its group change what is stored."),
        Setting(
            "admin.socketGroup", \.admin.socketGroup, .line("group", upTo: 32), initially: "the daemon's own",
            needsRestart: true,
            "The group that the Unix socket belongs to. The daemon's user has to be a member, unless it is root."),
        Setting(
            "admin.lanes", \.admin.lanes, .flag, needsRestart: true,
            """
            Whether every user of this machine may open lanes: `larder run` and `larder env --lane`, without records and \
            replays. It makes a second socket beside `admin.socket`, `larder-lanes.sock` for `larder.sock`, on which all \
            users may do this, end their own lanes, and read; nothing else. The socket's directory must be open to them, as \
            the package's `/run/larder` is; `$XDG_RUNTIME_DIR` and the one in `/tmp` are not.
            """),
        Setting(
            "admin.listen", \.admin.listen, .listenAddresses(count: 0...64), needsRestart: true,
            """
            Addresses and ports on which only Larder's own pages are served, as for a monitoring system. Requests there \
            may name a loopback host or the address itself as their `Host`, and come from the clients that \
            `access.allow` lets in.
            """),
        Setting(
            "admin.token", \.admin.token, .secret,
            """
            The bearer token that authorises changes over TCP. Without one, changes are made over the Unix socket \
            only.
            """),
    ]

    private static let cache: [Setting<Settings>] = [
        Setting(
            "cache.path", \.cache.path, .database,
            initially: "`larder.db` in `$STATE_DIRECTORY`, else in `/var/lib/larder` for root, else in "
                + "`$XDG_STATE_HOME/larder`, else in `~/.local/state/larder`",
            needsRestart: true,
            """
            The directory for what is stored, which is Larder's alone: the database `larder.db`, which may be named \
            too, with large content in files beside it. One with directories of something else is refused. `none` \
            stores nothing on disk.
            """),
        Setting(
            "cache.disk", \.cache.disk, .size(.mebibytes(4), .tebibytes(1_024)), needsRestart: true,
            "The bound of everything stored on disk: the database, its write-ahead log and the content files."),
        Setting(
            "cache.memory", \.cache.memory, .size(.mebibytes(1), .tebibytes(1)),
            "The bound of what is held in memory to answer from at once."),
        Setting(
            "cache.inlineLimit", \.cache.inlineLimit, .size(ByteCount(0), .mebibytes(1)), needsRestart: true,
            "Content up to this size is stored inside the database or together in segments, larger content as a file of "
                + "its own."),
        Setting(
            "cache.maxObject", \.cache.maxObject, .size(.kibibytes(1), .tebibytes(1)), needsRestart: true,
            "Content larger than this, or than an eighth of `cache.disk`, passes through without being stored."),
        Setting(
            "cache.targets", \.cache.targets, .list(of: .fieldName, count: 0...8),
            """
            The targeted cache control fields (RFC 9213) that are obeyed in place of `Cache-Control`; the first \
            that a response has counts.
            """),
        Setting(
            "cache.surrogateKey", \.cache.surrogateKey, .fieldName, initially: "none",
            """
            A response field in which origins name groups, separated by blanks or commas, as `Surrogate-Key` or `xkey`; \
            they count like those in `Cache-Groups` (RFC 9875). `larder invalidate --group` and `larder wipe --group` \
            reach all responses of a group.
            """),
        Setting(
            "cache.hideSurrogateKey", \.cache.hideSurrogateKey, .flag,
            "Whether the field of `cache.surrogateKey` is taken out of what clients get."),
    ]

    private static let timeouts: [Setting<Settings>] = {
        let range = Duration.milliseconds(10)...Duration.seconds(86_400)
        return [
            Setting(
                "timeouts.head", \.timeouts.head, .duration(range),
                "How long a client may take to send a request head, from its first octet to its last; and how long a "
                    + "tunnel may be silent before either side has sent a byte."),
            Setting(
                "timeouts.idle", \.timeouts.idle, .duration(range),
                "How long a client connection is kept between requests."),
            Setting(
                "timeouts.body", \.timeouts.body, .duration(range),
                "How long a client may pause while it sends the content of a request; never longer than `timeouts.idle`."
            ),
            Setting(
                "timeouts.write", \.timeouts.write, .duration(range),
                "How long a client may refuse to take what it is sent."),
            Setting(
                "timeouts.connect", \.timeouts.connect, .duration(range),
                "How long reaching an origin may take: name resolution, connection and TLS handshake together. "
                    + "Never longer than `timeouts.upstream`."),
            Setting(
                "timeouts.upstream", \.timeouts.upstream, .duration(range),
                "How long an origin may be silent, before its response or in the middle of it. Before its "
                    + "response, that includes the time to reach it. An interim response counts as a sign of life, and "
                    + "32 of them are accepted for a request."),
            Setting(
                "timeouts.upstreamIdle", \.timeouts.upstreamIdle, .duration(range),
                "How long an unused connection to an origin is kept."),
            Setting(
                "timeouts.upstreamRest", \.timeouts.upstreamRest, .duration(.zero...Duration.seconds(1)),
                """
                How long a connection to an origin rests after a response before it carries another request. An \
                origin that sends more than it announced is noticed in that time, and its connection given up.
                """),
            Setting(
                "timeouts.tunnelIdle", \.timeouts.tunnelIdle, .duration(range),
                "How long a tunnel is kept in which nothing moves."),
            Setting(
                "timeouts.drain", \.timeouts.drain, .duration(.zero...Duration.seconds(3_600)),
                "How long running exchanges are given to end when the daemon is asked to stop."),
            Setting(
                "timeouts.abandon", \.timeouts.abandon, .duration(.zero...Duration.seconds(3_600)),
                "How long a request to an origin goes on after the last client that waited for it has gone."),
        ]
    }()

    private static let limits: [Setting<Settings>] = [
        Setting(
            "limits.connections", \.limits.connections, .integer(1...1_000_000),
            "Client connections open at once. Further ones are answered 503 and closed."),
        Setting(
            "limits.clientConnections", \.limits.clientConnections, .integer(1...1_000_000),
            initially: "half of `limits.connections`, at least 100",
            "Connections open at once from one address, which is for IPv6 the 64 bits that name the network, and this "
                + "machine as a whole. Further ones are answered 429 and closed."),
        Setting(
            "limits.clientRequests", \.limits.clientRequests, .integer(1...1_000_000),
            initially: "half of `limits.upstreamConnections`, at least 16",
            "Requests that wait for origins, and tunnels, at once from one address of the network. Further ones are "
                + "answered 429; what is answered from the cache does not count, nor do clients on this machine. "
                + "Validations in the background count; without a place they are left to a later request."),
        Setting(
            "limits.reservedConnections", \.limits.reservedConnections, .integer(0...10_000),
            "Connections beyond `limits.connections` that are kept for the Unix socket and `admin.listen`, and half of "
                + "them for `/-/…` asked for from this machine."),
        Setting(
            "limits.headSize", \.limits.headSize, .size(.kibibytes(4), .mebibytes(1)),
            "The size of a message head: start line and header section together."),
        Setting(
            "limits.fieldLines", \.limits.fieldLines, .integer(16...10_000),
            "The number of field lines in a header or trailer section."),
        Setting(
            "limits.targetLength", \.limits.targetLength, .size(ByteCount(256), ByteCount(TargetURI.lengthLimit)),
            "The length of a request target."),
        Setting(
            "limits.upstreamConnections", \.limits.upstreamConnections, .integer(1...65_535),
            "Connections of each event loop (`threads`) to one origin, in use and idle. Further requests to it wait."),
        Setting(
            "limits.tunnels", \.limits.tunnels, .integer(0...1_000_000),
            "Tunnels open at once. Further CONNECT requests are answered 503."),
        Setting(
            "limits.transformedContent", \.limits.transformedContent, .size(.kibibytes(1), .gibibytes(1)),
            "The longest content that transformers are given, and that they may make of it. Longer content passes "
                + "through as it came; when a transformer makes more, the client gets a 502."),
        Setting(
            "limits.transforming", \.limits.transforming, .size(.mebibytes(1), .gibibytes(64)),
            "Content collected for transformers at one time, of which one service has no more than three quarters. A request "
                + "for which there is no room is answered 503."),
    ]

    private static let log: [Setting<Settings>] = [
        Setting("log.level", \.log.level, .choice, "The least severe messages that are logged."),
        Setting("log.access", \.log.access, .flag, "Whether each exchange leaves a line in the log."),
        Setting("log.format", \.log.format, .choice, "Log lines for people, or one JSON object a line."),
        Setting(
            "log.accessFormat", \.log.accessFormat, .choice,
            """
            The lines of `log.access`: like all others (`standard`), as web servers write them (`combined`), or as Squid \
            does (`squid`), for programs that read these.
            """),
        Setting(
            "log.accessFile", \.log.accessFile, .path, initially: "the log itself",
            """
            A file that the lines of `log.access` are added to. On reload it is opened anew, so that another program may \
            have moved it away.
            """),
    ]

    private static let upstream: [Setting<Settings>] = [
        Setting(
            "upstream.caFile", \.upstream.caFile, .path,
            initially: "none",
            "A file of PEM certificates of authorities that are trusted too."),
        Setting(
            "upstream.systemTrust", \.upstream.systemTrust, .flag,
            "Whether the authorities that the system trusts are trusted; `false` leaves those of `caFile`."),
        Setting(
            "upstream.parent", \.upstream.parent, .parentProxy,
            """
            The proxy through which origins are reached. `environment` is what `http_proxy`, `https_proxy` and \
            `no_proxy` say; `none` reaches origins directly.
            """),
        Setting(
            "upstream.noProxy", \.upstream.noProxy, .list(of: .host),
            "Hosts that are reached directly in any case. Loopback hosts always are."),
        Setting(
            "upstream.breaker.failures", \.upstream.breaker.failures, .integer(0...1_000),
            """
            How often in a row an origin may fail before it is left alone. A failure is an origin that cannot be \
            reached and, for services, a 502, 503 or 504, silence or no answer at all, from one URL once only and if \
            it goes on for a second without any other answer. `0` asks it each time.
            """),
        Setting(
            "upstream.breaker.openFor", \.upstream.breaker.openFor,
            .duration(.milliseconds(10)...Duration.seconds(3_600)),
            """
            How long an origin that fails is left alone at most. A few requests then find out whether it works again; \
            before the first, it waits 1 s, and after each that fails twice as long, up to this.
            """),
        Setting(
            "upstream.retryAfterLimit", \.upstream.retryAfterLimit, .duration(.zero...Duration.seconds(86_400)),
            """
            How long an origin is left alone at most when it asks for that by `Retry-After` or the fields of rate \
            limits. It counts for the URL that was asked for; when three URLs of a service say it in a row, for a \
            second or longer, for all of them: a 503 for all clients, a 429 for those with the same credentials. \
            Writes, `Cache-Control: no-cache` and `larder load` are sent all the same. `0` leaves it to the clients.
            """),
        Setting(
            "tunnels.ports", \.tunnels.ports, .list(of: .ports),
            """
            The ports that CONNECT may name. Clients on a loopback address reach loopback hosts on all ports from \
            1024 besides.
            """),
        Setting(
            "tunnels.loopback", \.tunnels.loopback, .flag,
            "Whether CONNECT leads to this machine, by whatever name, on any port."),
        Setting(
            "intercept.hosts", \.intercept.hosts, .list(of: .host),
            """
            The hosts and addresses whose https is cached: Larder answers CONNECT in their place, with certificates of a \
            local CA that it makes for it (docs/https.md). Everything else passes unseen.
            """),
        Setting(
            "intercept.except", \.intercept.except, .list(of: .host),
            "Hosts whose https is never looked into, whatever else says that it is."),
        Setting(
            "intercept.services", \.intercept.services, .flag,
            "Whether the https hosts of services are opened as those of `intercept.hosts`, once there is a local CA."),
        Setting(
            "intercept.retreat", \.intercept.retreat, .duration(.zero...Duration.seconds(7 * 86_400)),
            """
            How long https passes unseen from a client to a host, after the client has shown that it does not trust the \
            local CA. `0` lets it fail each time.
            """),
    ]

    private static let access: [Setting<Settings>] = [
        Setting(
            "offline", \.offline, .offlineMode,
            """
            Whether origins are asked. `on` never asks: clients get what is stored, whatever its age, else 504 with what \
            is stored nearby. `auto` does so for as long as an origin fails or no origin can be reached, and finds out \
            behind the clients' backs when that is over. `larder offline` changes it while the daemon runs.
            """),
        Setting(
            "codings", \.codings, .offeredCodings, initially: "none",
            """
            The content codings that clients get stored content in, beside the one it came in, as `codings` in a \
            configure block says it: for URLs that no service covers, and for those of services whose blocks have no \
            `codings` of their own.
            """),
        Setting(
            "access.allow", \.access.allow, .list(of: .addressRange),
            """
            The clients that are served although they are not on a loopback address. Others are answered 403, \
            whatever `listen` says.
            """),
        Setting(
            "access.users", \.access.users, .path, initially: "none",
            """
            A file of users, a line `NAME:HASH` for each: `larder user add NAME` writes it. With one, clients have to say \
            who they are by `Proxy-Authorization: Basic …` (407), wherever they are, but for those over the Unix socket, \
            in lanes, and with a certificate of `tls.clientCA`. Larder's own pages ask too (401), but for those that only \
            count. It is read again on reload. See [sharing](sharing.md#users).
            """),
        Setting(
            "gateway.anyHost", \.gateway.anyHost, .flag,
            """
            Whether clients on a loopback address may name any host, as `/https/<host>/…`, `/http/<host>/…` and \
            `https--<host>.localhost`. When false, CONNECT leads to the hosts and ports of services only.
            """),
        Setting(
            "gateway.hosts", \.gateway.hosts, .list(of: .host),
            """
            Names that gateway requests may be addressed to, besides loopback names and the addresses of \
            `listen`. Any other `Host` is refused, so that no web page can reach Larder under a name of its own.
            """),
        Setting(
            "forward.anyHost", \.forward.anyHost, .flag,
            """
            Whether Larder is a forward proxy for any http URL. When false, requests in absolute-form are served \
            under the services' base URLs only, and CONNECT leads to the hosts and ports of services only.
            """),
        Setting(
            "forwarded", \.forwarded, .choice,
            """
            `add` tells origins the client's address and the scheme and host it used, in the `Forwarded` field \
            (RFC 7239); `none` tells them nothing. The client's own value of that field is not passed on.
            """),
    ]
}
