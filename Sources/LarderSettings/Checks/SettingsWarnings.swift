// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO

/// Valid settings that cannot work, as far as the configuration alone shows.
enum SettingsWarnings {
    static func check(_ settings: Settings, _ reader: inout SettingsReader) {
        checkListeners(settings, &reader)
        checkAccess(settings, &reader)
        checkLimits(settings, &reader)
        checkTraces(settings, &reader)
        for service in settings.services {
            checkRegistry(service, settings, &reader)
            checkHistory(of: service, settings, &reader)
            checkMount(of: service, settings, &reader)
            for (index, block) in service.configure.enumerated() {
                let setting = "services.\(service.name).configure[\(index)]"
                checkMatch(block, of: service, at: setting, &reader)
                checkPlace(block, of: service, at: setting, &reader)
                checkQuery(block, at: setting, &reader)
                checkMethods(block, at: setting, &reader)
                checkWebhook(block, at: setting, &reader)
            }
        }
    }

    // MARK: Clients

    /// An unspecified address includes all others of its family, so a second listener cannot use one of them.
    private static func checkListeners(_ settings: Settings, _ reader: inout SettingsReader) {
        let lists = [
            ("listen", settings.listen), ("tls.listen", settings.tls.listen), ("admin.listen", settings.admin.listen),
        ]
        let all = lists.flatMap(\.1)
        for (setting, list) in lists {
            for one in list where one.port != 0 && !one.isUnspecified {
                let wide = all.first {
                    $0.port == one.port && $0.isUnspecified && $0.isIPv6 == one.isIPv6
                }
                guard let wide else { continue }
                warn(
                    setting,
                    found: "\(SettingsProblem.quoted("\(one)")), which is among \(SettingsProblem.quoted("\(wide)"))",
                    expected: "one of the two", advice: "the daemon does not start with both; remove one", &reader)
            }
        }
    }

    private static func checkAccess(_ settings: Settings, _ reader: inout SettingsReader) {
        if let open = settings.listen.first(where: { !$0.isLoopback }), settings.access.allow.isEmpty {
            warn(
                "listen", found: "\(SettingsProblem.quoted("\(open)")), where clients of other machines are refused",
                expected: "addresses in `access.allow`",
                advice: "name those that may use it, as `access: { allow: [192.0.2.0/24] }`", &reader)
        }
        if settings.admin.socketMode.bits & 0o006 != 0 {
            warn(
                "admin.socketMode", found: SettingsProblem.quoted(settings.admin.socketMode.text),
                expected: "a mode without rights for others",
                advice: "every user of this machine may change what is stored", &reader)
        }
        if settings.log.accessFile != nil, !settings.log.access {
            warn(
                "log.accessFile", found: "a file without `log.access`", expected: "`log.access: true`",
                advice: "nothing is written to it", &reader)
        }
    }

    private static func checkLimits(_ settings: Settings, _ reader: inout SettingsReader) {
        let limits = settings.limits
        guard limits.transformedContent.bytes > limits.transforming.bytes / 4 * 3 else { return }
        warn(
            "limits.transformedContent", found: "\(limits.transformedContent)",
            expected: "at most three quarters of `limits.transforming`, which is \(limits.transforming)",
            advice: "no service has more, so that longer responses are answered 503; lower one or raise the other",
            &reader)
    }

    private static func checkTraces(_ settings: Settings, _ reader: inout SettingsReader) {
        let trace = settings.trace
        guard let collector = trace.otlp?.target else {
            if trace.sample != Settings.Trace().sample || !trace.headers.isEmpty {
                warn(
                    trace.headers.isEmpty ? "trace.sample" : "trace.headers", found: "a setting without `trace.otlp`",
                    expected: "the collector's URL in `trace.otlp`", advice: "nothing is exported", &reader)
            }
            return
        }
        if collector.port == 4317 {
            warn(
                "trace.otlp", found: "the port of OTLP over gRPC", expected: "that of OTLP over HTTP",
                suggestion: "\(collector.scheme.text)://\(collector.host):4318",
                advice: "collectors listen for HTTP on another port", &reader)
        }
    }

    // MARK: Services

    private static func checkHistory(
        of service: ServiceSettings, _ settings: Settings, _ reader: inout SettingsReader
    ) {
        guard case .none = settings.cache.path else { return }
        let block = service.configure.firstIndex { $0.history ?? 0 > 0 }
        guard service.history > 0 || block != nil else { return }
        warn(
            "services.\(service.name)." + (service.history > 0 ? "" : "configure[\(block ?? 0)].") + "history",
            found: "a history without a cache on disk", expected: "a directory in `cache.path`",
            advice: "nothing is kept", &reader)
    }

    /// To browsers a path includes those below it, in their cookies.
    private static func checkMount(
        of service: ServiceSettings, _ settings: Settings, _ reader: inout SettingsReader
    ) {
        let mount = service.effectiveMount
        let below = settings.services.first { $0.effectiveMount != mount && $0.effectiveMount.hasPrefix(mount) }
        guard service.mount != nil, let below else { return }
        warn(
            "services.\(service.name).mount",
            found: "\(SettingsProblem.quoted(mount)), with \(SettingsProblem.quoted(below.effectiveMount)) below it",
            expected: "mounts beside each other",
            advice: "a browser sends cookies of the first to the second; at \(service.name).localhost it does not",
            &reader)
    }

    /// A registry's preset shares responses between requests with different tokens, as all tokens are equal for public
    /// images. Clients on other people's machines probably have tokens for private images.
    private static func checkRegistry(
        _ service: ServiceSettings, _ settings: Settings, _ reader: inout SettingsReader
    ) {
        guard let preset = service.preset, ["dockerhub", "oci"].contains(preset), service.privacy == .shared,
            !settings.access.allow.isEmpty, service.configure.contains(where: { $0.everyone == true })
        else { return }
        warn(
            "services.\(service.name).preset",
            found: "\(SettingsProblem.quoted(preset)), which gives all clients the private images that one has fetched",
            expected: "public images alone, where clients of other machines are served (`access.allow`)",
            advice: "`privacy: partitioned` keeps the clients apart by their tokens", &reader)
    }

    // MARK: Blocks

    /// Patterns in the syntax of other programs.
    private static func checkMatch(
        _ block: ConfigureBlock, of service: ServiceSettings, at setting: String, _ reader: inout SettingsReader
    ) {
        guard let pattern = block.pattern.match else { return }
        let text = pattern.text
        let isAbsolute = pattern.isAbsolute
        let path = isAbsolute ? pathOf(text) : text[...]
        let segments = path.split(separator: "/")
        let named = segments.first { segment in
            segment.hasPrefix(":") && segment.utf8.count > 1
                || [("{", "}"), ("[", "]")].contains { segment.hasPrefix($0) && segment.hasSuffix($1) }
        }
        if let named {
            let meant = text.replacing("/\(named)", with: "/*")
            return warn(
                setting + ".match", found: "\(SettingsProblem.quoted(String(named))), which is taken as it stands",
                expected: "`*` for one segment, `**` for several, `?` for one character", suggestion: meant,
                advice: "there are no other wildcards", &reader)
        }
        let base = service.baseURL.target.pathAndQuery
        let rooted = path.hasPrefix("/") ? path : "/" + path
        guard !isAbsolute else { return }
        let mount = service.effectiveMount
        if mount != "/", rooted.hasPrefix(mount), !base.hasPrefix(mount) {
            return warn(
                setting + ".match",
                found:
                    "\(SettingsProblem.quoted(text)), which begins with \(SettingsProblem.quoted(mount)) of the gateway",
                expected: "a path below `baseURL`", suggestion: "/" + rooted.dropFirst(mount.utf8.count),
                advice: "where the origin's own path begins so, write the whole URL", &reader)
        }
        guard base != "/", rooted.hasPrefix(base) else { return }
        warn(
            setting + ".match",
            found:
                "\(SettingsProblem.quoted(text)), which lies below \(SettingsProblem.quoted(base)) of `baseURL` twice",
            expected: "a path below `baseURL`", suggestion: "/" + rooted.dropFirst(base.utf8.count),
            advice: "no resource is at \(SettingsProblem.quoted(String(base.dropLast()) + rooted))", &reader)
    }

    /// Values with wildcards, which only paths have.
    private static func checkQuery(_ block: ConfigureBlock, at setting: String, _ reader: inout SettingsReader) {
        for condition in block.pattern.query {
            guard case .exactly(let value) = condition.value, value.contains("*") else { continue }
            warn(
                setting + ".query", found: "\(SettingsProblem.quoted(value)), which is taken as it stands",
                expected: "the whole value, or `*` alone for any",
                advice: "to find a part of it, use `regex`, which sees the URL with its query", &reader)
        }
    }

    /// URLs on another host are not resources of the service.
    private static func checkPlace(
        _ block: ConfigureBlock, of service: ServiceSettings, at setting: String, _ reader: inout SettingsReader
    ) {
        let own = service.baseURL.target
        func isReached(_ host: String, _ port: UInt16) -> Bool {
            host.contains("*") || host == own.host
                || service.allowHosts.contains { $0.matches(host: host, port: port) }
        }
        func tell(_ name: String, _ found: String) {
            warn(
                "\(setting).\(name)", found: "\(SettingsProblem.quoted(found)), where no resource of the service is",
                expected: "\(SettingsProblem.quoted(own.host)), or a host in `allowHosts`",
                advice: "the block is for nothing; move it to the service of that host", &reader)
        }
        if let url = block.pattern.url, !isReached(url.host, url.port) { tell("url", url.authority) }
        if let match = block.pattern.match, match.isAbsolute, let place = authority(of: match.text),
            !isReached(place.host, place.port)
        {
            tell("match", place.host)
        }
        if let scheme = block.pattern.scheme, scheme.rawValue != own.scheme.text, service.allowHosts.isEmpty {
            warn(
                setting + ".scheme", found: SettingsProblem.quoted(scheme.rawValue),
                expected: SettingsProblem.quoted(own.scheme.text), advice: "the block is for nothing: `baseURL` is not",
                &reader)
        }
    }

    /// The URL of a webhook is often the only authorisation for its use.
    private static func checkWebhook(
        _ block: ConfigureBlock, at setting: String, _ reader: inout SettingsReader
    ) {
        guard let webhook = block.onChange?.value?.webhook, let url = try? TargetURI(webhook.reveal()),
            url.scheme == .http, !HostPattern.isLoopbackName(url.host),
            webhook.reference != nil || url.pathAndQuery.contains("?")
        else { return }
        warn(
            setting + ".onChange.webhook",
            found: "a secret in an http URL on \(SettingsProblem.quoted(url.authority)), which goes there unencrypted",
            expected: "an https URL", advice: "everyone on the way can read it and use the webhook", &reader)
    }

    private static func checkMethods(_ block: ConfigureBlock, at setting: String, _ reader: inout SettingsReader) {
        for method in block.methods ?? [] where !knownMethods.contains(method.token) {
            warn(
                setting + ".methods", found: "the method \(SettingsProblem.quoted(method.token)), which nobody knows",
                expected: "a registered method",
                suggestion: Nearest.name(to: method.token, in: knownMethods),
                advice: "requests with other methods are passed on", &reader)
        }
        if block.keyedByContent == true, let methods = block.methods, !methods.contains(.post),
            !methods.contains(.query)
        {
            warn(
                setting + ".keyedByContent", found: "`keyedByContent` for methods without content",
                expected: "`POST` or `QUERY` in `methods`", advice: "it changes nothing here", &reader)
        }
    }

    /// The methods in the IANA registry, without the methods that only HTTP/2 has.
    private static let knownMethods = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "ACL",
        "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "LABEL", "LINK", "LOCK", "MERGE", "MKACTIVITY",
        "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "ORDERPATCH", "PROPFIND", "PROPPATCH", "REBIND",
        "REPORT", "SEARCH", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF",
        "VERSION-CONTROL",
    ]

    /// The path of an absolute pattern.
    private static func pathOf(_ text: String) -> Substring {
        guard let scheme = text.firstRange(of: "://") else { return text[...] }
        return text[scheme.upperBound...].drop { $0 != "/" }
    }

    private static func authority(of text: String) -> (host: String, port: UInt16)? {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let authority = text[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }
        let standard: UInt16 = text.hasPrefix("http://") ? 80 : 443
        guard let parts = HostAndPort.split(authority) else { return nil }
        return (String(parts.host).lowercased(), parts.port ?? standard)
    }

    private static func warn(
        _ setting: String, found: String, expected: String, suggestion: String? = nil, advice: String,
        _ reader: inout SettingsReader
    ) {
        reader.warn(
            SettingsProblem(
                at: reader.place(of: setting), setting: setting, found: found, expected: expected,
                suggestion: suggestion, advice: advice))
    }
}
