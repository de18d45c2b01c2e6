// SPDX-License-Identifier: Apache-2.0

extension SettingsCatalogue {
    static let sharedCache: [Setting<Settings>] = [
        Setting(
            "sharedCache.url", \.sharedCache.url, .engine, initially: "none", needsRestart: true,
            """
            The Valkey or Redis through which several daemons share what they have stored (docs/sharing.md): \
            `redis://host:6379`, `rediss://…` for TLS, `redis+cluster://a:6379,b:6379` for a cluster, or `unix:/path`.
            """),
        Setting(
            "sharedCache.username", \.sharedCache.username, .line("user", upTo: 200), initially: "the default user",
            needsRestart: true, "The engine's user, where its ACL has several."),
        Setting(
            "sharedCache.password", \.sharedCache.password, .secret, initially: "none", needsRestart: true,
            "That user's password, as `${file:/path}`."),
        Setting(
            "sharedCache.namespace", \.sharedCache.namespace, .line("name", upTo: 64), needsRestart: true,
            "Where the names of all keys in the engine begin. Daemons with other namespaces share nothing."),
        Setting(
            "sharedCache.key", \.sharedCache.key, .secret, initially: "none", needsRestart: true,
            """
            The secret that the daemons of a team have in common, of 16 characters or more. Nobody without it can make \
            them serve anything, whoever may write to the engine.
            """),
        Setting(
            "sharedCache.timeout", \.sharedCache.timeout,
            .duration(Duration.milliseconds(1)...Duration.seconds(10)), needsRestart: true,
            "How long a request waits for an answer of the engine at most; then the origin is asked."),
        Setting(
            "sharedCache.maxObject", \.sharedCache.maxObject, .size(.kibibytes(1), .tebibytes(1)), needsRestart: true,
            """
            Content longer than this is not shared. Without a cache on disk, nor is what is longer than memory keeps of \
            one response: a sixteenth of `cache.memory`, at most 4 MiB.
            """),
        Setting(
            "sharedCache.share", \.sharedCache.share, .choice, needsRestart: true,
            """
            The responses that are shared: those of URLs that no service claims, but for this machine's own names and \
            addresses (`unclaimed`); those of services that add no credentials, transform nothing and keep no users \
            apart (`services`); or both (`all`).
            """),
        Setting(
            "sharedCache.tls.caFile", \.sharedCache.caFile, .path, initially: "none", needsRestart: true,
            "A PEM file of authorities that are trusted for the engine's certificate, beside the system's."),
    ]
}
