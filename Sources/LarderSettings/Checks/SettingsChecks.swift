// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Constraints between settings that are each valid by themselves.
enum SettingsChecks {
    static func check(_ settings: Settings, _ reader: inout SettingsReader) {
        checkSizes(settings, &reader)
        checkMounts(settings.services, &reader)
        checkBases(settings.services, &reader)
        checkLoops(settings, &reader)
        for service in settings.services {
            checkTLS(service, &reader)
            if service.token != nil {
                refuse(
                    "services.\(service.name).token", found: "`token` without a preset that has a place for it",
                    expected: "`headers` in a block of `configure`",
                    advice: "write `configure: [{ headers: { Authorization: \"Bearer …\" } }]`", &reader)
            }
            if service.identity != nil, service.privacy != .partitioned {
                refuse(
                    "services.\(service.name).identity",
                    found: "`identity` with `privacy: \(service.privacy.rawValue)`",
                    expected: "`privacy: partitioned`",
                    advice: "set that, or remove `identity`: nobody is told apart here",
                    &reader)
            }
            if service.identity?.contains(.user) == true, settings.access.users == nil {
                refuse(
                    "services.\(service.name).identity", found: "`user` without `access.users`",
                    expected: "a file of users in `access.users`",
                    advice: "name it, or leave `user` out: clients are not asked who they are", &reader)
            }
            if service.sharesPartitions { checkShared(service, &reader) }
            for (index, block) in service.configure.enumerated() {
                checkRefresh(block, settings, at: "services.\(service.name).configure[\(index)]", &reader)
                checkIgnored(block, of: service, at: "services.\(service.name).configure[\(index)]", &reader)
                check(block, at: "services.\(service.name).configure[\(index)]", &reader)
            }
        }
    }

    /// The least number of characters: anyone who can read the engine can try out keys.
    private static let sharedKeyLength = 16

    private static func checkSizes(_ settings: Settings, _ reader: inout SettingsReader) {
        if settings.cache.inlineLimit > settings.cache.maxObject {
            refuse(
                "cache.inlineLimit", found: "\(settings.cache.inlineLimit)",
                expected: "no more than `cache.maxObject`, which is \(settings.cache.maxObject)",
                advice: "lower one or raise the other", &reader)
        }
        if settings.cache.hideSurrogateKey, settings.cache.surrogateKey == nil {
            refuse(
                "cache.hideSurrogateKey", found: "no `cache.surrogateKey`", expected: "the field that is to be hidden",
                advice: "name it in `cache.surrogateKey`, or leave this out", &reader)
        }
        if settings.sharedCache.url != nil, settings.sharedCache.key == nil, !reader.isReported("sharedCache.key") {
            reader.refuse(
                SettingsProblem(
                    at: reader.place(of: "sharedCache.url"), setting: "sharedCache.key", found: "nothing",
                    expected: "the secret that all daemons of the team have",
                    advice: "make one with `openssl rand -hex 32`, and name it as `${file:/path}`"))
        }
        if let key = settings.sharedCache.key, key.reveal().utf8.count < SettingsChecks.sharedKeyLength {
            refuse(
                "sharedCache.key", found: "fewer than \(SettingsChecks.sharedKeyLength) characters",
                expected: "a secret that nobody guesses", advice: "make one with `openssl rand -hex 32`", &reader)
        }
        if !settings.tls.listen.isEmpty, settings.tls.certificate == nil || settings.tls.key == nil {
            // The missing setting is reported at the setting that needs it.
            reader.refuse(
                SettingsProblem(
                    at: reader.place(of: "tls.listen"),
                    setting: settings.tls.certificate == nil ? "tls.certificate" : "tls.key", found: "nothing",
                    expected: "the file for `tls.listen`", advice: "name it, or leave `tls.listen` out"))
        }
        if !settings.upstream.systemTrust, settings.upstream.caFile == nil {
            refuse(
                "upstream.systemTrust", found: "`false` and no `upstream.caFile`", expected: "somebody to trust",
                advice: "name the authorities in `upstream.caFile`, or leave this out", &reader)
        }
        if settings.limits.targetLength > settings.limits.headSize {
            refuse(
                "limits.targetLength", found: "\(settings.limits.targetLength)",
                expected: "no more than `limits.headSize`, which is \(settings.limits.headSize)",
                advice: "lower one or raise the other", &reader)
        }
        if let repeated = firstRepeated(settings.listen.filter { $0.port != 0 }) {
            refuse(
                "listen", found: "\(SettingsProblem.quoted("\(repeated)")) twice", expected: "each address once",
                advice: "remove one of them", &reader)
        } else if let repeated = firstRepeated((settings.listen + settings.tls.listen).filter { $0.port != 0 }) {
            refuse(
                "tls.listen", found: "\(SettingsProblem.quoted("\(repeated)")) again",
                expected: "addresses that are neither in `listen` nor repeated",
                advice: "an address is for clients with TLS or for those without", &reader)
        } else if let repeated = firstRepeated((settings.listen + settings.admin.listen).filter { $0.port != 0 }) {
            refuse(
                "admin.listen", found: "\(SettingsProblem.quoted("\(repeated)")) again",
                expected: "addresses that are neither in `listen` nor repeated",
                advice: "Larder's own pages are served on every address of `listen` as well", &reader)
        }
    }

    /// Two services must not have the same mount, nor one a mount inside the other's; only `/`, which matches
    /// everything else, may contain others.
    private static func checkMounts(_ services: [ServiceSettings], _ reader: inout SettingsReader) {
        for (index, service) in services.enumerated() {
            let mount = service.effectiveMount
            let other = services[..<index].first { earlier in
                let theirs = earlier.effectiveMount
                return mount == theirs
                    || mount != "/" && theirs != "/" && (mount.hasPrefix(theirs) || theirs.hasPrefix(mount))
            }
            guard let other else { continue }
            // The explicit one is reported.
            let setting = service.mount == nil && other.mount != nil ? other : service
            let rival = setting.name == service.name ? other : service
            refuse(
                "services.\(setting.name).mount",
                found: "the mount \(SettingsProblem.quoted(setting.effectiveMount))",
                expected: "a path that no other service has",
                advice:
                    "it overlaps \(SettingsProblem.quoted(rival.effectiveMount)) of the service `\(rival.name)`; choose another",
                &reader)
        }
    }

    private static func checkBases(_ services: [ServiceSettings], _ reader: inout SettingsReader) {
        var owners: [BaseURL: String] = [:]
        for service in services {
            guard let owner = owners.updateValue(service.name, forKey: service.baseURL) else { continue }
            refuse(
                "services.\(service.name).baseURL", found: SettingsProblem.quoted(service.baseURL.shown) + " again",
                expected: "a URL that no other service has",
                advice: "the service `\(owner)` has it already; put both into one service", &reader)
        }
    }

    /// A service whose origin is Larder itself would forward in a loop.
    private static func checkLoops(_ settings: Settings, _ reader: inout SettingsReader) {
        for service in settings.services {
            let target = service.baseURL.target
            let address = SocketAddress(host: target.host, port: target.port)
            let isOwn = settings.listen.contains { own in
                address.map { $0 == own }
                    ?? (own.port == target.port && own.isLoopback && HostPattern.isLoopbackName(target.host))
            }
            guard isOwn else { continue }
            refuse(
                "services.\(service.name).baseURL", found: SettingsProblem.quoted(service.baseURL.shown),
                expected: "a URL that is not Larder's own", advice: "`listen` has this address; name the origin's",
                &reader)
        }
    }

    private static func check(_ block: ConfigureBlock, at setting: String, _ reader: inout SettingsReader) {
        if block.expirationTime?.mode != nil, block.override != nil {
            refuse(
                setting + ".override", found: "both `override` and a `mode` of `expirationTime`",
                expected: "one of them", advice: "remove `override`", &reader)
        }
        if reader.places[setting + ".keepFor"] != nil, reader.places[setting + ".expirationTime"] != nil {
            refuse(
                setting + ".keepFor", found: "both `keepFor` and `expirationTime`", expected: "one of them",
                advice: "`keepFor` is `expirationTime` with `mode: floor`; remove one of them", &reader)
        }
        if block.decorate.deny?.value != nil, block.decorate.respond?.value != nil {
            refuse(
                setting + ".decorate.respond", found: "`respond` beside `deny`", expected: "one of them",
                advice: "either answers every request; remove one", &reader)
        }
        if let retry = block.decorate.retry?.value, retry.backoff > retry.maxBackoff {
            refuse(
                setting + ".decorate.retry.backoff", found: "a `backoff` longer than `maxBackoff`",
                expected: "no more than \(UnitText.write(retry.maxBackoff))", advice: "lower one or raise the other",
                &reader)
        }
        if let change = block.onChange?.value, change.exec.isEmpty, change.webhook == nil {
            refuse(
                setting + ".onChange", found: "neither `exec` nor `webhook`", expected: "one of them or both",
                advice: "nobody would be told; name a program or a URL, or leave `onChange` out", &reader)
        }
        if let url = block.pattern.url, block.pattern.match != nil || block.pattern.regex != nil {
            refuse(
                setting + ".url", found: "`url` beside `match` or `regex`",
                expected: "one of them",
                advice: "\(SettingsProblem.quoted(url.string)) is one resource already; remove the others",
                &reader)
        }
    }

    private static func checkTLS(_ service: ServiceSettings, _ reader: inout SettingsReader) {
        let setting = "services.\(service.name).tls"
        if (service.tls.certificate == nil) != (service.tls.key == nil) {
            let (given, lacking) = service.tls.key == nil ? ("certificate", "key") : ("key", "certificate")
            refuse(
                "\(setting).\(given)", found: "`\(given)` without `\(lacking)`", expected: "both or none",
                advice: "add `\(lacking)`, or remove `\(given)`", &reader)
        }
        if service.tls != ServiceTLS(), service.baseURL.target.scheme == .http {
            refuse(
                setting, found: "`tls` for \(SettingsProblem.quoted(service.baseURL.shown))",
                expected: "an https URL in `baseURL`", advice: "change `baseURL`, or remove `tls`", &reader)
        }
    }

    /// A user's responses are shared where every daemon knows that user, and the origin knows no other.
    private static func checkShared(_ service: ServiceSettings, _ reader: inout SettingsReader) {
        let setting = "services.\(service.name).shared"
        if service.privacy != .partitioned {
            refuse(
                setting, found: "`shared: true` with `privacy: \(service.privacy.rawValue)`",
                expected: "`privacy: partitioned` and an `identity`",
                advice: service.privacy == .shared
                    ? "remove `shared`: `sharedCache.share` says whether responses for everyone are shared"
                    : "other daemons have other users; keep users apart, or remove `shared`", &reader)
        } else if service.identity == nil {
            refuse(
                setting, found: "`shared: true` without an `identity`", expected: "what says who asks at every daemon",
                advice: "name it, as `identity: [Authorization]`", &reader)
        } else if let part = service.identity?.first(where: { $0 == .client || $0 == .user }) {
            let name = part == .client ? "client" : "user"
            refuse(
                setting, found: "`shared: true` with `\(name)` in the `identity`",
                expected: "fields and cookies, which mean the same user at every daemon",
                advice: "remove `\(name)`: another daemon may have another user of that address or name", &reader)
        } else if service.token != nil || service.tls.certificate != nil
            || service.configure.contains(where: {
                $0.headers.contains { $0.value != nil && SecretName.isOne(field: $0.name) }
            })
        {
            refuse(
                setting, found: "`shared: true` where Larder adds credentials of its own",
                expected: "no credentials but the users'",
                advice: "what they were needed for stays here; remove them, or `shared`", &reader)
        }
    }

    /// A user's responses may be stored where users are separated, or where they are declared to be the same for
    /// everyone.
    private static func checkIgnored(
        _ block: ConfigureBlock, of service: ServiceSettings, at setting: String, _ reader: inout SettingsReader
    ) {
        guard service.privacy == .shared, block.everyone != true, let ignored = block.ignoreResponse?.directives else {
            return
        }
        for (word, directive) in [("private", IgnoredResponse.Directives.isPrivate), ("set-cookie", .setCookie)]
        where ignored.contains(directive) {
            refuse(
                setting + ".ignoreResponse", found: "`\(word)` where everyone shares what is stored",
                expected: "`privacy: partitioned` or `private`, or `everyone: true` in the block",
                advice: "one user's response would be given to others; keep users apart, or say that it is everyone's",
                &reader)
        }
    }

    /// Refreshed values must be stored in declared variables.
    private static func checkRefresh(
        _ block: ConfigureBlock, _ settings: Settings, at setting: String, _ reader: inout SettingsReader
    ) {
        let declared = settings.variables.map(\.name)
        for name in block.decorate.refresh?.value?.variables ?? [] where !declared.contains(name) {
            let known =
                Nearest.name(to: name, in: declared).map { "; did you mean \(SettingsProblem.quoted($0))?" } ?? ""
            refuse(
                setting + ".decorate.refreshToken.store.\(name)",
                found: "\(SettingsProblem.quoted(name)), which is not declared",
                expected: "the name of a variable", advice: "declare it under `variables`\(known)", &reader)
        }
    }

    private static func firstRepeated<Value: Hashable>(_ values: [Value]) -> Value? {
        var seen: Set<Value> = []
        return values.first { !seen.insert($0).inserted }
    }

    private static func refuse(
        _ setting: String, found: String, expected: String, advice: String, _ reader: inout SettingsReader
    ) {
        reader.refuse(
            SettingsProblem(
                at: reader.place(of: setting), setting: setting, found: found, expected: expected, advice: advice))
    }
}
