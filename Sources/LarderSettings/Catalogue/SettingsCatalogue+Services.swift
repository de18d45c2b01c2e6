// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

extension SettingsCatalogue {
    /// The settings of one service, below `services.<name>`.
    package static let service = SettingsSection<ServiceSettings>([
        Setting(
            "preset", \.preset, .preset, initially: "none",
            """
            The settings that the service begins with, for what many people use: `larder preset list` names them, \
            [presets](presets.md) describes them. The service's own settings win, and its `configure` comes after the \
            preset's. `NAME@VERSION` insists on that version.
            """),
        Setting(
            "token", \.token, .secret, initially: "none",
            """
            The credential of the service's own, as `${NAME}`, for presets that have a place for one. It takes the place \
            of what clients send there. Responses fetched with it are one user's: `privacy` is `private` then, unless \
            it is set or the preset has an `identity`.
            """),
        Setting(
            "baseURL", \.baseURL, .baseURL, isRequired: true,
            """
            The http or https URL that the service's resources lie under. A request for a URL under it gets this \
            service's configuration, however it arrives; where several cover it, the longest does, or the one \
            whose mount or name is used.
            """
        ).inSwift("`baseURL`"),
        Setting(
            "mount", \.mount, .mount, initially: "`/<name>/`",
            "The path prefix that leads to the service. `/` claims every path that is not below `/-/`."
        ).inSwift("`mount`"),
        Setting(
            "privacy", \.privacy, .choice,
            """
            The users who may be answered from a stored response: everyone (`shared`), those who are the same user by \
            `identity` (`partitioned`), or the one user of this machine (`private`; clients on the network share among \
            themselves).
            """
        ).inSwift("`$0.privacy`; `identity` is the file's"),
        Setting(
            "identity", \.identity, .list(of: .identityPart, count: 1...16),
            initially: "all fields that look like credentials",
            """
            The identity of a user, with `privacy: partitioned`: names of fields (`Authorization`, `X-Api-Key`), \
            `cookie: NAME`, `user`: the client's user by `access.users`, and `client`: subject and alternative names \
            of the client's certificate (`tls.clientCA`), else its address. A client that has none of them is nobody \
            in particular: for it the rules of a shared cache hold. So they do for responses to requests that carry \
            credentials which are not named here. See [requests](requests.md#who-is-who).
            """),
        Setting(
            "shared", \.sharesPartitions, .flag, initially: "`false`",
            """
            Whether what is stored for one user (`privacy: partitioned`) is shared with the team's other daemons \
            (`sharedCache`), for that user alone. Needs an `identity` that is the same there: fields and cookies. \
            Anyone who can read the engine can read these responses.
            """),
        Setting(
            "ignoreQuery", \.ignoreQuery, .list(of: .namePattern, count: 0...256), initially: "none",
            """
            Query parameters that make no difference, by name; `*` is any characters (`utm_*`). They are no part of what \
            a response is stored under. Nor are they sent to the origin: what it made of them would go to everyone.
            """),
        Setting(
            "allowHosts", \.allowHosts, .list(of: .host), initially: "the host of `baseURL`",
            "Further hosts that resources of the service may be on. Others are answered 403."),
        Setting(
            "browsers.allow", \.browsers.allow, .list(of: .webOrigin, count: 0...64),
            """
            The origins whose pages may use the service through the gateway, or with credentials of the configuration \
            through the forward proxy, with every method and field, its credentials and their cookies. Larder answers the preflights of those, and gives them what it gets; pages of \
            all other origins are answered 403. Nothing else has to be listed: programs, what is typed into the address \
            bar, and the service's own pages at `<name>.localhost` are served anyway.
            """),
        Setting(
            "parent", \.parent, .parentProxy, initially: "as `upstream.parent`",
            "The proxy through which this service's origin is reached."),
        Setting(
            "tls.caFile", \.tls.caFile, .path, initially: "none",
            "A file of PEM certificates of authorities that are trusted for this service's origin too."),
        Setting(
            "tls.certificate", \.tls.certificate, .path, initially: "none",
            "A PEM file with the certificate that Larder shows this service's origin, and those of its issuers."),
        Setting(
            "tls.key", \.tls.key, .path, initially: "none",
            "A PEM file with the private key of `tls.certificate`, without a passphrase."),
        Setting(
            "tls.serverName", \.tls.serverName, .line("host name"), initially: "the host of `baseURL`",
            "The name that this service's origin is asked for, and has to prove."),
        Setting(
            "offline", \.offline, .offlineMode, initially: "as `offline` above",
            "Whether the origin is asked; `true` and `false` mean `on` and `off`."
        ).inSwift("`$0.isOffline`, without `auto`"),
        Setting(
            "history", \.history, .integer(0...100),
            """
            How many superseded responses are kept on disk of each resource, for `larder history` and `larder diff`: those \
            with status 200 whose content was another one. Clients never get them. They are the first to go when the disk \
            fills up, and a wipe removes them too.
            """),
        Setting(
            "standardTransformers", \.standardTransformers, .list(of: .choice, count: 0...3), initially: "none",
            "Transformers that parse responses of their types, in this order; see [transformers](transformers.md)."
        ).inSwift("`$0.pipeline.add(.json)`, `.text`, `.image`"),
        Setting(
            "routes", \.routes, .routes, initially: "none", inside: route.descriptions,
            """
            Which URLs of the service stand for others. The first route that matches is applied before the resource \
            is looked up, so that what is stored belongs to the URL as it is forwarded.
            """),
        Setting(
            "quota.reserve", \.quotaReserve, .integer(0...1_000_000), initially: "none",
            """
            How many requests of a quota are left for writes, `Cache-Control: no-cache` and `larder load`. When the origin \
            says by `RateLimit` or `X-RateLimit-Remaining` that no more are left for a credential, other requests with it \
            get stale data within the bounds of `staleIfError`, or a 429 with `Retry-After`, until the quota begins anew.
            """),
        Setting(
            "prices", \.prices, .prices, initially: "none",
            """
            The prices of language models, by the beginning of their names: `{ input: 2.50, output: 10 }` for a \
            million tokens each, in whatever currency. `larder status` says what answers out of the cache have saved.
            """),
        Setting(
            "configure", \.configure, .blocks, initially: "none", inside: configure.descriptions,
            """
            Settings for the service's resources, in blocks. Blocks are applied in order, and a later one overrides \
            what an earlier one said.
            """
        ).inSwift("`service.configure(…) { … }`, in `configure(_:)` or later"),
    ])

    /// The settings of one block, below `services.<name>.configure[]`.
    package static let configure = SettingsSection<ConfigureBlock>(conditions + policies + decorators)

    private static let conditions: [Setting<ConfigureBlock>] = [
        Setting(
            "match", \.pattern.match, .glob,
            """
            Resources whose URL, up to its query, the pattern describes, below `baseURL` unless it starts with a \
            scheme. `*` is any characters but `/`, `**` also `/`, `**/` any directories or none, `?` one character.
            """
        ).inSwift(#"`configure("/users/*")`"#),
        Setting(
            "regex", \.pattern.regex, .regex,
            """
            Resources in whose absolute URL, query included, the regular expression is found. Anchor it with `^` \
            before you attach credentials to it.
            """
        ).inSwift(#"`configure(try RegexPattern("^https://…"))`"#),
        Setting("url", \.pattern.url, .exactURL, "The one resource with this URL, query included.").inSwift(
            "`configure(service.resource(…))`"),
        Setting("except", \.pattern.except, .glob, "A pattern as in `match`, of resources that are not meant.").inSwift(
            "`configure(whenURLMatches:)`"),
        Setting(
            "query", \.pattern.query, .query, initially: "any",
            """
            Query parameters and the value each must have, as a whole: within a value, `*` is no wildcard (see `regex`). \
            `"*"` alone is any value; `null` means that the parameter must be absent.
            """
        ).inSwift("`configure(whenURLMatches:)`"),
        Setting("scheme", \.pattern.scheme, .choice, "Resources whose URL has this scheme.").inSwift(
            "`configure(whenURLMatches:)`"),
        Setting("host", \.pattern.host, .host, "Resources on this host.").inSwift("`configure(whenURLMatches:)`"),
        Setting(
            "methods", \.methods, .list(of: .method, count: 1...32), initially: "all",
            "The request methods that the block is for."
        ).inSwift("`configure(…, methods:)`"),
        Setting(
            "description", \.description, .line(), initially: "the conditions",
            "The block's name in logs and explanations."
        ).inSwift("`configure(…, description:)`"),
    ]

    private static let policies: [Setting<ConfigureBlock>] = {
        let upTo10Years = Duration.zero...Duration.seconds(3_650 * 86_400)
        return [
            Setting(
                "headers", \.headers, .headers, initially: "none",
                "Fields that are set on requests to the origin; `null` removes one that an earlier block set."
            ).inSwift("`$0.fields`; `$0.mutateRequests` where they depend on the request"),
            Setting(
                "expirationTime", \.expirationTime, .expiration(upTo10Years), initially: "as RFC 9111 says",
                short: ShortKey(key: "keepFor", kind: .leastExpiration(upTo10Years)),
                """
                How long a response is up to date if the origin does not say; without it, the heuristics of RFC 9111 \
                decide. As a map, `mode` tells how the two \
                relate: `fallback` (the origin's first), `cap` (the shorter), `floor` (the longer), `override` \
                (always this one). `keepFor: 10 min` is short for `expirationTime: { time: 10 min, mode: floor }`: at \
                least so long, also where the origin names a shorter time. Statuses may have times of their own, errors too: \
                `{ 200: 1 h, 404: 1 min, default: 0 s }`. Where `privacy` is `shared` and the request carries a cookie or \
                another credential, or the response sets a cookie, none of this counts for a response to which the \
                origin gives no lifetime, unless `everyone` is `true`.
                """
            ).inSwift(
                "`$0.expirationTime` and `$0.expirationMode`, without times for statuses; "
                    + "`$0.keep(for:)` is `keepFor`"
            ).explained(\.lifetimeWords),
            Setting(
                "ignoreRequest", sets: \.ignoreRequest, .ignoredRequest, initially: "nothing",
                """
                Directives of clients that are not heeded, and not forwarded: `no-cache`, `max-age`, `no-store`, \
                `pragma`. For clients that always ask the origin; `larder load` still does.
                """),
            Setting(
                "ignoreResponse", sets: \.ignoreResponse, .ignoredResponse, initially: "nothing",
                """
                Directives and fields of origins that are not heeded: `no-store`, `private`, `no-cache`, \
                `must-revalidate`, `set-cookie` (the response is kept, the cookie is not), and `vary: [FIELD, …]`. \
                `private` and `set-cookie` need users who are kept apart, or `everyone`; where neither holds, \
                `no-store` and `no-cache` are still heeded in answers to requests with credentials. Clients see the \
                fields as they came, and `detail="ignored …"` in `Cache-Status`.
                """),
            Setting(
                "everyone", sets: \.everyone, .flag, initially: "`false`",
                """
                `true` says that the origin sends everyone the same, whoever asks: credentials in requests do not keep \
                responses out of the cache that all share.
                """),
            Setting(
                "override", \.override, .flag, initially: "`false`",
                "`true` is short for `mode: override` of `expirationTime`, `false` for `mode: fallback`."
            ).inSwift("`$0.expirationMode`"),
            Setting(
                "retryTime", sets: \.retryTime, .duration(upTo10Years), initially: "`1 s`",
                """
                How long an origin that could not be reached is not asked for the URL again; clients get what is stored if \
                they may, else the error at once.
                """
            ).inSwift("`$0.retryTime`"),
            Setting(
                "staleWhileRevalidate", sets: \.staleWhileRevalidate, .duration(upTo10Years), initially: "`0`",
                """
                How long after its time a response is still served while a new one is fetched, if the origin does \
                not say (RFC 5861).
                """
            ).inSwift("`$0.staleWhileRevalidate`"),
            Setting(
                "staleIfError", sets: \.staleIfError, .duration(upTo10Years), initially: "`1 day`",
                """
                How long after its time a response is served when the origin fails, if the origin does not say \
                (RFC 5861).
                """
            ).inSwift("`$0.staleIfError`"),
            Setting(
                "cache", sets: \.caching, .choice(["none": .none, "default": .perStage]), initially: "`default`",
                "`none` stores nothing of these resources; `default` takes an earlier `none` back."
            ).inSwift("`$0.caching`"),
            Setting(
                "history", sets: \.history, .integer(0...100), initially: "as the service",
                "How many superseded responses are kept on disk of each of these resources."),
            Setting(
                "offline", sets: \.offline, .offlineMode, initially: "as the service",
                "Whether the origin is asked for these resources; `true` and `false` mean `on` and `off`."
            ).inSwift("`$0.isOffline`, without `auto`"),
            Setting(
                "reloadOnRecovery", sets: \.reloadOnRecovery, .flag, initially: "`false`",
                """
                `true` has resources that someone watches by `/-/events?url=` loaded when their last load failed and \
                their origin, or the network, works again, four at a time; where no client asks, one of them finds out.
                """
            ).inSwift("`service.reloadAfterRecovery()`, when the program knows of it"),
            Setting(
                "refreshAhead", sets: \.refreshAhead, .refreshAhead, initially: "`off`",
                """
                Which stored responses are asked for again before clients do: those that someone observes \
                (`watched`: `larder watch`, `/-/events` with `url` or `match`) or that were asked for at least three times \
                since they came (`popular`), when 80 to 90 % of their lifetime are over; or all, at set times: `every 15 min` \
                after they came, `daily 06:00` by this machine's clock, spread over five minutes. Only what came without \
                credentials of a client is: with the service's own, or with none. Four are asked for at once, \
                two of a service, and ten in a second; none in backoff, offline, or from the reserve of a quota.
                """),
            Setting(
                "keyedByContent", sets: \.keyedByContent, .flag, initially: "`false`",
                """
                `true` has POST and QUERY answered like GET, from what was stored for the same content: it is part of \
                the key, JSON whatever its blanks and the order of its members. Such a POST invalidates nothing. For \
                requests that only read: searches, GraphQL (its mutations pass through), language models.
                """),
            Setting(
                "keyedContentLimit", sets: \.keyedContentLimit, .bytes(.kibibytes(1), .mebibytes(64)),
                initially: "`1 MiB`",
                "Requests with longer content than this pass through in spite of `keyedByContent`."),
            Setting(
                "ignoreContent", sets: \.ignoreContent, .list(of: .line("member name"), count: 0...64),
                initially: "none",
                """
                Members of JSON content, of its outermost object, that make no difference with `keyedByContent`, as \
                `user`. They are sent to the origin all the same: the first one's are, for everybody after.
                """),
            Setting(
                "streamEnd", sets: \.streamEnd, .list(of: .line(), count: 0...16), initially: "any end",
                """
                Texts of which one must be in the last 4 KiB of a stream of events (`text/event-stream`) for the \
                stream to be kept. For origins that break off without saying so.
                """
            )
            .explained { $0.streamEnd.isEmpty ? "any end" : $0.streamEnd.joined(separator: ", ") },
            Setting(
                "replay", sets: \.replay, .choice, initially: "`immediate`",
                """
                How a stored stream of events is sent again: `immediate`, or `paced` as it came from the origin, for \
                programs that show it while it grows. No pause is longer than 10 s, and after 10 min the rest is sent at \
                once; so are streams without times, and parts of them (`Range`).
                """),
            Setting(
                "links", sets: \.links, .flag, initially: "`false`",
                """
                `true` has links in JSON and HTML lead back to Larder where they lead to a service, for clients of the \
                gateway, by the name and in the way that the client used; the realm of `WWW-Authenticate`, too. The \
                stored response stays as the origin sent it. Such content has no ranges and no coding, and entity tags \
                of its own.
                """),
            Setting(
                "followRedirects", sets: \.followRedirects, .flag, initially: "`false`",
                """
                `true` has Larder go where the origin redirects a GET or HEAD, up to five times, and keep what it gets \
                there for the URL that was asked for. Credentials go to no other origin. Fields of the redirects that begin \
                with `X-` are added to the response.
                """),
            Setting(
                "onChange", \.onChange,
                SettingKind.section(
                    "map of exec, webhook and debounce", onChange,
                    expected: "a map with `exec`, `webhook` and `debounce`"
                ).revocable,
                initially: "none", inside: onChange.descriptions,
                """
                A program, a webhook, or both, that are told when a load brings other content than the one stored \
                before, as clients get it. The JSON has the URL as `larder list` shows it, service, time, status and \
                the SHA-256 of both contents. Errors are not compared, nor is what is not stored, or stored for one \
                user of many. A failure is tried again three times, after 2, 15 and 60 s or more; what waits when \
                Larder stops is not told.
                """
            ).inSwift("`resource.addObserver(…)`, for `newData`")
                .explained { $0.changeRule?.words ?? "none" },
            Setting(
                "codings", sets: \.codings, .offeredCodings, initially: "none",
                """
                The content codings that clients get stored content in, beside the one it came in: the one a client \
                gives the highest weight, of several the first here. `[]` takes an earlier list back. Text, JSON and \
                the like, at most 4 MiB long and not marked `no-transform`, is coded, once, when it is first asked for \
                that way; the origin is not asked again for another `Accept-Encoding`. Do not use it for pages that \
                hold secrets beside what others may choose (BREACH).
                """
            )
            .explained { $0.codings.isEmpty ? "as it came" : $0.codings.map(\.rawValue).joined(separator: ", ") },
            Setting(
                "pipeline", \.pipeline, .pipeline, initially: "none",
                """
                The transformers that responses pass through before clients get them: a map from stages to \
                transformers. [Transformers](transformers.md) has them all.
                """
            ).inSwift("`$0.pipeline`, `service.configureTransformer(…)`"),
            Setting(
                "serve", sets: \.serving, .serving, initially: "`final`",
                """
                The content that clients get: the result of the pipeline (`final`) or of one of its stages, or the \
                origin's octets (`raw`).
                """
            ).inSwift("`$0.serving`"),
            Setting(
                "transformTimeout", sets: \.transformTimeout, .duration(.milliseconds(10)...(.seconds(3_600))),
                initially: "`30 s`", "How long all transformers may take over one response, together."
            ).inSwift("`$0.transformTimeout`"),
            Setting(
                "transformedSizeLimit", sets: \.transformedSizeLimit, .bytes(.kibibytes(1), .gibibytes(1)),
                initially: "`256 MiB`", "How many octets a transformer may make of a response."
            ).inSwift("`$0.transformedSizeLimit`"),
        ]
    }()
}
