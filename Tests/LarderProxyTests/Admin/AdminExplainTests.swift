// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import Testing

@testable import LarderAdmin

/// What is said in each situation lies beside this file, one text for each. `LARDER_WRITE_GOLDEN=1` writes them anew:
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

        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "nothing-stored"),
        Case(
            name: "fresh", variants: [variant("max-age=600", age: 42)],
            block: block { $0.expirationTime = Expiration(time: .seconds(600)) }),
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
        Case(name: "cache-none", block: block { $0.cache = BlockCaching.none }),
        Case(name: "offline", variants: [variant("max-age=60", age: 4_000)], isOffline: true),
        Case(name: "offline-and-nothing-stored", isOffline: true),
        Case(
            name: "failed-lately", variants: [variant("max-age=60", age: 90)],
            failure: LoadFailure(at: now - .seconds(1), retryAt: now + .seconds(29), error: Refused())),
        Case(name: "invalidated", variants: [variant("max-age=600", age: 42, standing: .stale)]),
        Case(
            name: "only-if-cached", request: ["Cache-Control": "only-if-cached, max-age=5"],
            variants: [variant("max-age=600", age: 42)]),
        Case(
            name: "partitioned", request: ["Authorization": "Bearer topsecret"],
            variants: [variant("max-age=600", age: 42)],
            privacy: .partitioned),
    ]

    @Test(arguments: cases)
    func `what is said is clear, and stays`(_ example: Case) throws {
        let text = Explanation(AdminExplainTests.situation(example)).text
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden/\(example.name).txt")
        if ProcessInfo.processInfo.environment["LARDER_WRITE_GOLDEN"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
        #expect(!text.contains("topsecret"))
    }

    @Test func `the JSON says what the text says, with numbers`() throws {
        let json = Explanation(AdminExplainTests.situation(AdminExplainTests.cases[1])).json
        #expect(json["decision"]?.string == "answer")
        #expect(json["cacheStatus"]?.string == "Larder; hit; ttl=557")
        let freshness = try #require(json["freshness"]?.array)
        #expect(freshness.first { $0["name"]?.string == "left" }?["seconds"]?.double == 557.88)
        #expect(json["storage"]?["conditions"]?.array?.count == StorageCondition.allCases.count)
        #expect(json["blocks"]?[1]?["changes"]?[0]?.string == "expirationTime: 10 min")
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

    // MARK: Situations

    static func situation(_ example: Case) -> Situation {
        var settings = ServiceSettings()
        settings.name = "github"
        settings.privacy = example.privacy
        let service = Service(
            "github", baseURL: "https://api.github.com/", standardTransformers: [], transport: ProxyTransport(),
            defaults: defaults)
        let isOffline = example.isOffline
        let privacy = Configuration.Privacy(rawValue: example.privacy.rawValue) ?? .shared
        let own = ConfigurationEntry(description: "service github") {
            $0.isOffline = isOffline
            $0.privacy = privacy
        }
        service.replaceConfiguration(
            with: [own] + (example.block.map { [ConfigurationEntry($0, relativeTo: service.baseURL)] } ?? []))
        let routed = RoutedService(
            service, number: 0, settings: settings, targets: [.cdnCacheControl],
            identities: IdentityDigest(key: [UInt8](repeating: 7, count: 32)), parent: { _ in nil })
        let uri = ResourceURL("https://api.github.com\(example.path)").target ?? TargetURI()
        var situation = Situation(service: routed, way: .mount, uri: uri, fields: example.request, now: now)
        situation.variants = example.variants
        situation.isInMemory = true
        situation.failure = example.failure
        situation.isLoading = example.isLoading
        situation.unstored = example.unstored
        return situation
    }

    private static var defaults: Configuration {
        var defaults = Configuration()
        defaults.expirationMode = .fallback
        defaults.staleIfError = .seconds(86_400)
        return defaults
    }

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
        _ cacheControl: String, age: Int64, vary: Fields? = nil, standing: StoredResponse.Standing = .asReceived
    ) -> Variant {
        let time = now - .seconds(age)
        var fields: Fields = [
            "Date": HTTPDate.string(time), "Cache-Control": cacheControl, "ETag": "\"v1\"",
            "Content-Type": "application/json",
        ]
        if vary != nil { fields[.vary] = "Accept-Language" }
        let policy = Configuration().cachePolicy
        var adjusted = policy
        adjusted.expirationMode = .fallback
        let stored = StoredResponse(
            variance: Variance(vary: fields, request: vary ?? Fields()), status: 200, fields: fields,
            requestTime: time - .milliseconds(120), responseTime: time, contentLength: 1_234, standing: standing,
            policy: adjusted)
        return Variant(
            stored: stored, content: .memory([ContentChunk([UInt8](repeating: 0x20, count: 1_234))], length: 1_234),
            storedAt: time, via: "1.1 larder")
    }

    private static func unstored(_ cacheControl: String) -> UnstoredResponse {
        let response = ResponseHead(status: 200, fields: ["Cache-Control": cacheControl])
        let uri = ResourceURL("https://api.github.com/users/octocat").target ?? TargetURI()
        return UnstoredResponse(
            response, at: now - .seconds(5),
            conditions: Storability.conditions(
                request: RequestHead(), target: uri, response: response, policy: .service,
                responseTime: now - .seconds(5)))
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
