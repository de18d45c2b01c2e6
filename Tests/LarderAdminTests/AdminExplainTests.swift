// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings
import LarderTransformers
import Testing

@testable import Larder
@testable import LarderAdmin

/// The explanations lie beside this file, one text for each situation. `LARDER_WRITE_GOLDEN=1` writes them anew:
/// read them then, as a person who wants to know.
@Suite("Explaining")
struct AdminExplainTests {
    static let now = Timestamp(seconds: 1_700_000_000)

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var path = "/users/octocat"
        var request = Fields()
        var variants: [Variant] = []
        var block: ConfigureBlock?
        var privacy = ServicePrivacy.shared
        var isOffline = false
        var failure: LoadFailure?
        var isLoading = false
        var unstored: UnstoredResponse?
        var method = LarderHTTP.Method.get
        var isClaimed = true
        var rewriting: RouteRewriting?
        var transformed = Transformed.no

        var testDescription: String { name }
    }

    /// Whether the pipeline has transformed the stored response.
    enum Transformed { case no, yes, otherwise, fromError }

    static let cases: [Case] = [
        Case(name: "nothing-stored"),
        Case(
            name: "fresh", variants: [variant("max-age=600", age: 42)],
            block: block { $0.expirationTime = Expiration(time: .seconds(600)) }),
        Case(name: "nothing-stored-with-credentials", request: ["Authorization": "Bearer topsecret"]),
        Case(name: "an-error", unstored: unstored("must-revalidate", status: 500)),
        Case(
            name: "a-cookie-and-no-lifetime", request: ["Cookie": "id=topsecret"],
            block: block { $0.expirationTime = Expiration(time: .seconds(600), mode: .override) },
            unstored: unstored("must-revalidate", request: ["Cookie": "id=topsecret"])),
        Case(
            name: "a-key-and-an-error", request: ["X-API-Key": "topsecret"],
            unstored: unstored("must-revalidate", request: ["X-API-Key": "topsecret"], status: 404), isClaimed: false),
        Case(
            name: "a-new-cookie-and-no-lifetime",
            unstored: unstored("must-revalidate", ["Set-Cookie": "id=topsecret"])),
        Case(
            name: "for-one-user", request: ["Cookie": "id=topsecret"],
            variants: [variant("no-cache", age: 42, traces: .credentialBesideKey)],
            block: block { $0.expirationTime = Expiration(time: .seconds(600), mode: .override) }),
        Case(name: "a-fresh-error", variants: [variant("max-age=60", age: 42, status: 404)]),
        Case(name: "stale-with-validator", variants: [variant("max-age=60", age: 90)]),
        Case(
            name: "stale-while-revalidate", variants: [variant("max-age=60, stale-while-revalidate=120", age: 90)],
            isLoading: true),
        Case(
            name: "no-cache-request", request: ["Cache-Control": "no-cache"],
            variants: [variant("max-age=600", age: 42)]),
        Case(
            name: "another-language", request: ["Accept-Language": "fr", "Authorization": "Bearer topsecret"],
            variants: [
                variant("max-age=600", age: 10, vary: ["Accept-Language": "de"]),
                variant("max-age=600", age: 20, vary: ["Accept-Language": "en"]),
            ]),
        Case(name: "not-stored", unstored: unstored("private, max-age=60")),
        Case(name: "cache-none", block: block { $0.caching = Configuration.Caching.none }),
        Case(name: "offline", variants: [variant("max-age=60", age: 4_000)], isOffline: true),
        Case(name: "offline-and-nothing-stored", isOffline: true),
        Case(
            name: "failed-lately", variants: [variant("max-age=60", age: 90)],
            failure: LoadFailure(at: now - .seconds(1), retryAt: now + .seconds(29), error: Refused())),
        Case(
            name: "failed-before",
            failure: LoadFailure(at: now - .seconds(90), retryAt: now - .seconds(60), error: Refused())),
        Case(name: "invalidated", variants: [variant("max-age=600", age: 42, standing: .stale)]),
        Case(
            name: "only-if-cached", request: ["Cache-Control": "only-if-cached, max-age=5"],
            variants: [variant("max-age=600", age: 42)]),
        Case(
            name: "partitioned", request: ["Authorization": "Bearer topsecret"],
            variants: [variant("max-age=600", age: 42)],
            privacy: .partitioned),
        Case(name: "private-mode", variants: [variant("private, max-age=600", age: 42)], privacy: .private),
        Case(
            name: "validated-each-time",
            variants: [variant("no-cache, max-age=600", age: 42)]),
        Case(
            name: "stale-if-error", variants: [variant("max-age=60, stale-if-error=120", age: 90)],
            failure: LoadFailure(at: now - .seconds(1), retryAt: now + .seconds(29), error: Refused())),
        Case(
            name: "stale-without-validator",
            variants: [variant("max-age=60, must-revalidate", age: 90, ["ETag": nil])]),
        Case(
            name: "max-stale", request: ["Cache-Control": "max-stale=60, max-stale=5"],
            variants: [variant("max-age=60", age: 90)]),
        Case(
            name: "too-old-for-the-client", request: ["Cache-Control": "max-age=10", "Pragma": "no-cache"],
            variants: [variant("max-age=600", age: 42)]),
        Case(name: "written-to", variants: [variant("max-age=600", age: 42, standing: .invalid)]),
        Case(name: "no-store", unstored: unstored("no-store, max-age=600")),
        Case(
            name: "authorization", request: ["Authorization": "Bearer topsecret"],
            unstored: unstored("max-age=60", request: ["Authorization": "Bearer topsecret"])),
        Case(
            name: "must-understand", unstored: unstored("must-understand, no-store, max-age=600", status: 299)),
        Case(
            name: "vary-star", unstored: unstored("max-age=600", ["Vary": "Accept, *"])),
        Case(
            name: "too-large", unstored: unstored("max-age=600", ["Content-Length": "5368709120"])),
        Case(
            name: "other-partition", request: ["Authorization": "Bearer topsecret"],
            privacy: .partitioned, unstored: unstored("max-age=600", hindrance: .otherPartition)),
        Case(
            name: "a-part-not-stored", request: ["Range": "bytes=0-99"],
            unstored: unstored(
                "max-age=600", ["Content-Range": "bytes 0-99/1234"], request: ["Range": "bytes=0-99"], status: 206)),
        Case(
            name: "a-range", request: ["Range": "bytes=-100"], variants: [variant("max-age=600", age: 42)]),
        Case(
            name: "nothing-new", request: ["If-None-Match": "\"v1\""], variants: [variant("max-age=600", age: 42)]),
        Case(
            name: "only-the-origin-can-tell", request: ["If-Match": "\"v1\""],
            variants: [variant("max-age=600", age: 42)]),
        Case(
            name: "set-cookie-withheld",
            variants: [variant("max-age=600", age: 42, ["Set-Cookie": "id=topsecret"])]),
        Case(
            name: "heuristic",
            variants: [variant(nil, age: 42, ["Last-Modified": HTTPDate.string(now - .seconds(864_000))])]),
        Case(
            name: "override", variants: [variant("no-cache, max-age=5", age: 42, ["Age": "300"])],
            block: block { $0.expirationTime = Expiration(time: .seconds(600), mode: .override) }),
        Case(
            name: "an-unused-time", variants: [variant("max-age=5", age: 2)],
            block: block { $0.expirationTime = Expiration(time: .seconds(600)) }),
        Case(
            name: "an-unused-time-and-a-later-mode", variants: [variant("max-age=5", age: 2)],
            block: block { $0.expirationTime = Expiration(time: .seconds(600), mode: .fallback) }),
        Case(
            name: "a-lower-bound", variants: [variant("max-age=5", age: 42)],
            block: block { $0.expirationTime = Expiration(time: .seconds(600), mode: .floor) }),
        Case(
            name: "qualified",
            variants: [
                variant(
                    "max-age=600, no-cache=\"X-Session\", private=\"X-User, X-Plan\"", age: 42,
                    ["X-Session": "topsecret", "X-User": "topsecret"])
            ]),
        Case(
            name: "contradictory",
            variants: [
                variant(
                    "max-age=60, max-age=3600, public, stale-while-revalidate=soon, s-maxage = 5", age: 42,
                    ["Age": "10, 20", "Expires": HTTPDate.string(now + .seconds(9_999))])
            ]),
        Case(
            name: "dates-that-do-not-parse",
            variants: [variant("public", age: 42, ["Expires": "0", "Last-Modified": "the other day"])]),
        Case(
            name: "absurd-numbers",
            variants: [variant("max-age=99999999999999999999999", age: 42, ["Age": "184467440737095516160"])]),
        Case(
            name: "no-number", variants: [variant("max-age=1.5, s-maxage=-1", age: 42)]),
        Case(name: "a-write", variants: [variant("max-age=600", age: 42)], method: .post),
        Case(name: "a-head", variants: [variant("max-age=600", age: 42)], method: .head),
        Case(
            name: "coded", request: ["Accept-Encoding": "gzip, br"], variants: [variant("max-age=600", age: 42)],
            block: block { $0.codings = [.br, .gzip] }),
        Case(
            name: "decoded", request: ["Range": "bytes=0-9"],
            variants: [variant("max-age=600", age: 42, ["Content-Encoding": "gzip", "Vary": "Accept-Encoding"])],
            block: block { $0.codings = [.gzip] }),
        Case(
            name: "as-it-came", variants: [variant("max-age=600", age: 42)], block: block { $0.codings = [.br, .gzip] }),
        Case(
            name: "denied", variants: [variant("max-age=600", age: 42)],
            block: block { $0.decorate.deny = .set(DenyRule()) }),
        Case(
            name: "answered-beforehand",
            block: block {
                var rule = RespondRule()
                rule.status = 204
                rule.body = Secret("topsecret")
                $0.decorate.respond = .set(rule)
            }, method: .put),
        Case(
            name: "decorated", variants: [variant("max-age=60", age: 90)],
            block: block {
                $0.decorate.delay = .seconds(2)
                $0.decorate.retry = .set(RetryRule())
                var refresh = RefreshRule()
                refresh.store = [RefreshTarget(variable: "apiToken", pointer: JSONPointer("/token")!)]
                refresh.json = [RefreshParameter(name: "secret", value: Secret("topsecret"))]
                $0.decorate.refresh = .set(refresh)
            }),
        Case(name: "routed", rewriting: rewriting),
        Case(
            name: "transformed", variants: [variant("max-age=600", age: 42)], block: pipeline, transformed: .yes),
        Case(
            name: "transformed-otherwise", variants: [variant("max-age=600", age: 42)], block: pipeline,
            transformed: .otherwise),
        Case(
            name: "transformed-from-an-error", variants: [variant(nil, age: 1)], block: pipeline,
            transformed: .fromError),
        Case(name: "not-transformed", variants: [variant("max-age=600", age: 42)], block: pipeline),
        Case(
            name: "a-write-with-effects",
            block: block {
                $0.afterWrite = Configuration.AfterWrite(.reload, also: ["/users"])
            }, method: .put),
        Case(name: "unclaimed", variants: [variant("max-age=600", age: 42)], isClaimed: false),
    ]

    @Test(arguments: cases)
    func `what is said is clear, and stays`(_ example: Case) throws {
        let text = Explanation(AdminExplainTests.situation(example)).text
        try check(text, example.name)
        #expect(!text.contains("topsecret"))
    }

    @Test(arguments: [("connect", true), ("connect-refused", false)])
    func `what is said of a tunnel is clear too`(_ name: String, isAllowed: Bool) throws {
        let refusal = Problem(
            status: 403, title: "Tunnel refused", proxyError: .httpRequestDenied,
            detail: "CONNECT to port 25 is not allowed.",
            advice: "Add the port to `tunnels.ports` in Larder's configuration if it should be.")
        let explanation =
            isAllowed
            ? Explanation(of: "api.github.com:443", .connect, .success("api.github.com:443"))
            : Explanation(of: "mail.example:25", .connect, .failure(refusal))
        try check(explanation.text, name)
    }

    @Test func `a request that a page of another site would cause is explained as refused`() async throws {
        try await AdminFixture.run { daemon throws in
            let question = "/-/explain?url=/api/a&header=Sec-Fetch-Site%3A+"
            let refused = try daemon.get(question + "cross-site")
            #expect(refused.content.contains("browsers.allow"))
            #expect(refused.content.contains("403"))
            #expect(try !daemon.get(question + "none").content.contains("browsers.allow"))
        }
    }

    /// Compares with what was said before.
    private func check(_ text: String, _ name: String) throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden/\(name).txt")
        if ProcessInfo.processInfo.environment["LARDER_WRITE_GOLDEN"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test func `the JSON says what the text says, with numbers`() throws {
        let json = Explanation(AdminExplainTests.situation(AdminExplainTests.cases[1])).json
        #expect(json["decision"]?.string == "answer")
        #expect(json["cacheStatus"]?.string == "Larder; hit; ttl=557")
        let freshness = try #require(json["freshness"]?.array)
        #expect(freshness.first { $0["name"]?.string == "left" }?["seconds"]?.double == 557.88)
        #expect(json["storage"]?["conditions"]?.array?.count == StorageCondition.allCases.count - 3)
        #expect(
            json["blocks"]?[1]?["changes"]?[0]?.string
                == "expirationTime: 10 min where the origin names none (was as RFC 9111 says)")
        #expect(json["stored"]?[0]?["chosen"]?.bool == true)
    }

    /// Real requests and their explanations agree, and nobody upstream hears of it.
    @Test func `what is explained is what happens`() async throws {
        try await AdminFixture.run { daemon throws in
            let requests: [(path: String, fields: [String])] = [
                ("/api/a", []), ("/api/a", []), ("/api/a", ["Cache-Control: no-cache"]), ("/api/vary", []),
                ("/api/vary", ["Accept-Language: de"]), ("/api/no-store", []), ("/api/no-store", []),
            ]
            for (path, fields) in requests {
                let before = daemon.origin.requests.count
                let query = fields.map { "&header=" + $0.replacing(" ", with: "%20") }.joined()
                let explained = try daemon.get("/-/explain?url=\(path)\(query)").json
                #expect(daemon.origin.requests.count == before)
                let real = try #require(try daemon.send("GET", path, fields)["Cache-Status"])
                let status = try #require(explained["cacheStatus"]?.string)
                // A second may pass between the two; what comes back from the origin is not known beforehand.
                let common = status.split(separator: ";").prefix(2).joined(separator: ";")
                #expect(real.hasPrefix(common), "\(path) \(fields): \(real), not \(status)")
            }
            let why = try daemon.get("/-/explain?url=/api/no-store", "Accept: text/plain")
            #expect(why["Content-Type"] == "text/plain; charset=utf-8")
            #expect(why.content.contains("NO   no-store"))
            #expect(why.content.contains("Cache-Control: no-store"))
        }
    }

    @Test func `blocks for GET are explained for methods that are configured like it`() async throws {
        try await AdminFixture.run {
            var block = AdminExplainTests.pipeline
            block.pattern.match = "**"
            block.methods = [.get]
            block.expirationTime = Expiration(time: .seconds(4_242), mode: .override)
            $0.services[0].configure = [block]
        } _: { daemon throws in
            for (method, count) in [("GET", 1), ("HEAD", 1), ("PROPFIND", 1), ("QUERY", 1), ("POST", 0)] {
                let blocks = try daemon.get("/-/explain?url=/api/a&method=\(method)").json["blocks"]?.array ?? []
                #expect(blocks.count { "\($0)".contains("4242") } == count, "\(method)")
            }
        }
    }

    @Test func `a load is not advised where the pipeline refused what the origin sent`() async throws {
        try await AdminFixture.run {
            var block = AdminExplainTests.pipeline
            block.pattern.match = "**"
            block.retryTime = .seconds(600)
            $0.services[0].configure.append(block)
        } origin: { _, _ in
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\nbad"
        } _: { daemon throws in
            #expect(try daemon.get("/api/a").status == 502)
            let why = try daemon.get("/-/explain?url=/api/a", "Accept: text/plain").content
            #expect(why.contains("Mend the transformer") && !why.contains("`larder load http"), "\(why)")
        }
    }

    @Test func `content that turns out too long while it passes is told from what was never there`() async throws {
        let long = String(repeating: "x", count: 0x2000)
        try await AdminFixture.run {
            $0.cache.inlineLimit = .kibibytes(1)
            $0.cache.maxObject = .kibibytes(1)
        } origin: { _, _ in
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2000\r\n\(long)\r\n0\r\n\r\n"
        } _: { daemon throws in
            #expect(try daemon.get("/api/a").status == 200)
            let why = try daemon.get("/-/explain?url=/api/a", "Accept: text/plain").content
            #expect(why.contains("was not stored (too-large)") && why.contains("at most 1 KiB"), "\(why)")
            #expect(try daemon.get("/-/metrics").content.contains("unstored_responses_total{reason=\"too-large\"} 1\n"))
        }
    }

    @Test func `a URL whose response was not kept is explained after others have pushed it out of memory`() async throws
    {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.get("/api/no-store").status == 200)
            let registry = daemon.daemon.proxy.registry
            var found: Resource?
            registry.forEach { found = $0 }
            let service = try #require(found?.service)
            let hash = try #require(found).key.hash
            found = nil
            for number in 1...40 {
                let key = ResourceKey(bytes: Array("key \(number)".utf8), hash: hash ^ UInt64(number))
                registry.pass(
                    registry.resource(for: key) {
                        Resource(service: service, url: ResourceURL("http://a.test/"), partition: .shared, key: $0)
                    })
            }
            var isThere = false
            registry.forEach { if $0.key.hash == hash { isThere = true } }
            #expect(!isThere)
            let why = try daemon.get("/-/explain?url=/api/no-store", "Accept: text/plain").content
            #expect(why.contains("was not stored (no-store)") && why.contains("NO   no-store"), "\(why)")
            #expect(why.contains("Cache-Control"))
            // A wipe forgets it, as it forgets all else.
            #expect(try daemon.command("POST", "/-/wipe?match=**").status == 200)
            #expect(
                try !daemon.get("/-/explain?url=/api/no-store", "Accept: text/plain").content.contains("was not stored")
            )
        }
    }

    @Test func `a question that cannot be answered is refused in words that programs can read`() async throws {
        try await AdminFixture.run { daemon throws in
            for query in ["url=nonsense", "url=/-/status", "url=/api/a&method=G%20T", "url=/api/a&header=nonsense"] {
                let answer = try daemon.get(
                    "/-/explain?\(query)", "Accept: text/plain, application/problem+json")
                #expect(answer.status == 400)
                #expect(try #require(answer.json["detail"]?.string).isEmpty == false)
            }
            let tunnel = try daemon.get("/-/explain?url=example.com:443").json
            #expect(tunnel["decision"]?.string == "tunnel")
            #expect(tunnel["method"]?.string == "CONNECT")
            let refused = try daemon.get("/-/explain?url=example.com:25").json
            #expect(refused["decision"]?.string == "refuse")
            #expect(try daemon.get("/-/explain?url=/api/a&method=POST").json["reason"]?.string == "method")
        }
    }

    // MARK: Situations

    static func situation(_ example: Case) -> Situation {
        var settings = ServiceSettings()
        settings.name = example.isClaimed ? "github" : "-"
        settings.privacy = example.privacy
        let service = Service(
            "github", baseURL: example.isClaimed ? "https://api.github.com/" : nil, standardTransformers: [],
            transport: ProxyTransport(),
            defaults: defaults)
        let (name, isOffline) = (settings.name, example.isOffline)
        let privacy = Configuration.Privacy(rawValue: example.privacy.rawValue) ?? .shared
        let own = ConfigurationEntry(description: "service \(name)") {
            $0.isOffline = isOffline
            $0.privacy = privacy
        }
        service.replaceConfiguration(
            with: [own] + (example.block.map { [ConfigurationEntry($0, relativeTo: service.baseURL)] } ?? []))
        let routed = RoutedService(
            service, number: 0, settings: settings, targets: [.cdnCacheControl],
            identities: IdentityDigest(key: [UInt8](repeating: 7, count: 32)), parent: { _ in nil })
        let uri = ResourceURL("https://api.github.com\(example.path)").target ?? TargetURI()
        var situation = Situation(
            service: routed, form: example.isClaimed ? .mount : .forward, uri: uri, method: example.method,
            fields: example.request, now: now)
        let policy = situation.policy
        let fingerprint = situation.configuration.fingerprint
        situation.variants = example.variants.map { variant in
            switch example.transformed {
            case .no: variant.under(policy).under(fingerprint: fingerprint)
            case .yes: made(of: variant.under(policy), by: fingerprint)
            case .otherwise: made(of: variant.under(policy), by: fingerprint ^ 1)
            case .fromError: made(of: variant.under(policy), by: fingerprint, from: 404)
            }
        }
        situation.rewriting = example.rewriting
        situation.isInMemory = true
        situation.failure = example.failure
        situation.isLoading = example.isLoading
        situation.unstored = example.unstored
        return situation
    }

    private static var defaults: Configuration {
        var defaults = Configuration()
        defaults.expirationMode = .heuristic
        defaults.staleIfError = .seconds(86_400)
        return defaults
    }

    /// Two stages with something in them.
    private static let pipeline = block {
        var settings = PipelineSettings()
        settings.stages = [stage(.decoding, .decode), stage(.parsing, .json)]
        $0.pipeline = settings
    }

    private static func stage(_ key: PipelineStageKey, _ use: TransformerSettings.Plain) -> StageSettings {
        var stage = StageSettings(key)
        var transformer = TransformerSettings()
        transformer.use = use
        stage.add = [transformer]
        return stage
    }

    /// The variant that a pipeline made of another.
    private static func made(
        of variant: Variant, by fingerprint: UInt64, from status: Status = 200
    ) -> Variant {
        Variant(
            stored: variant.stored, content: .memory([ContentChunk([0x7B, 0x7D])], length: 2),
            storedAt: variant.storedAt, via: "1.1 larder", fingerprint: fingerprint,
            rendition: Rendition(
                status: 200, fields: ["ETag": "\"made\"", "Content-Type": "application/json"], originStatus: status,
                isPromoted: status.isError))
    }

    private static let rewriting: RouteRewriting? = {
        guard let from = try? RouteTemplate("/members/{id}"), let to = try? RouteTemplate("/users/{id}") else {
            return nil
        }
        return RouteRewriting(
            place: 1,
            rule: RouteRule(
                from: from, to: to,
                query: [.remove(name: "utm_source"), .set(name: "v", value: "2"), .add(name: "page", value: "1")]),
            original: "https://api.github.com/members/octocat",
            result: "https://api.github.com/users/octocat?v=2&page=1")
    }()

    private struct Refused: Error, CustomStringConvertible {
        var description: String { "connection_refused: nobody listens at api.github.com:443" }
    }

    private static func block(_ change: (inout ConfigureBlock) -> Void) -> ConfigureBlock {
        var block = ConfigureBlock()
        block.pattern.match = "/users/*"
        block.headers = [HeaderEdit(name: .authorization, value: Secret("topsecret"))]
        change(&block)
        return block
    }

    private static func variant(
        _ cacheControl: String?, age: Int64, _ changes: [FieldName: String?] = [:], vary: Fields? = nil,
        standing: StoredResponse.Standing = .asReceived, status: Status = 200, traces: UserTraces = []
    ) -> Variant {
        let time = now - .seconds(age)
        var fields: Fields = [
            "Date": HTTPDate.string(time), "ETag": "\"v1\"", "Content-Type": "application/json",
        ]
        fields[.cacheControl] = cacheControl
        for (name, value) in changes { fields[name] = value }
        if vary != nil { fields[.vary] = "Accept-Language" }
        let policy = Configuration().cachePolicy
        var adjusted = policy
        adjusted.expirationMode = .fallback
        let stored = StoredResponse(
            traces: traces, variance: Variance(vary: fields, request: vary ?? Fields()), status: status, fields: fields,
            requestTime: time - .milliseconds(120), responseTime: time, contentLength: 1_234, standing: standing,
            policy: adjusted)
        return Variant(
            stored: stored, content: .memory([ContentChunk([UInt8](repeating: 0x20, count: 1_234))], length: 1_234),
            storedAt: time, via: "1.1 larder")
    }

    private static func unstored(
        _ cacheControl: String, _ more: [FieldName: String] = [:], request: Fields = Fields(), status: Status = 200,
        hindrance: UnstoredReason? = nil
    ) -> UnstoredResponse {
        var response = ResponseHead(status: status, fields: ["Cache-Control": cacheControl])
        for (name, value) in more { response.fields[name] = value }
        let uri = ResourceURL("https://api.github.com/users/octocat").target ?? TargetURI()
        return UnstoredResponse(
            response, at: now - .seconds(5),
            Storability.Trial(
                request: RequestHead(fields: request), target: uri, response: response, policy: .service,
                responseTime: now - .seconds(5)
            ).findings, hindrance: hindrance)
    }
}

extension CachePolicy {
    /// A service whose configuration names half a minute for data without a lifetime, one second between retries,
    /// and a day of stale data while the origin fails.
    fileprivate static var service: CachePolicy {
        var policy = CachePolicy()
        policy.expirationTime = .seconds(30)
        policy.retryTime = .seconds(1)
        policy.staleIfError = .seconds(86_400)
        return policy
    }
}
