// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings
import LarderTesting
import Testing

/// Responses that a pipeline refuses, and the clients that they concern.
@Suite("Scenarios: responses that a pipeline refuses")
struct RefusedResponseScenarios {
    private static let json = "Content-Type: application/json"

    /// What is wrong with a response, in words that quote it.
    private struct Quoting: Error, CustomStringConvertible {
        let description: String
    }

    /// Takes JSON only.
    private static let strict = TransformingScenarios.entry(
        ClosureTransformer("strict") { response in
            guard case .success(let entity) = response, let octets = entity.content as? [UInt8],
                (try? JSONValue(parsing: octets)) == nil
            else { return response }
            let cause = Quoting(description: "cannot parse \(String(decoding: octets, as: UTF8.self))")
            return .failure(
                RequestError(status: entity.status, entity: entity, cause: cause, timestamp: entity.timestamp))
        })

    /// Takes nothing, and says what fields there were.
    private static let tellingFields = TransformingScenarios.entry(
        ClosureTransformer("telling") { response in
            guard case .success(let entity) = response else { return response }
            let cause = Quoting(description: "there is \(Array(entity.fields.map(\.value)))")
            return .failure(RequestError(entity: entity, cause: cause, timestamp: entity.timestamp))
        })

    /// Throws an error that is no `RequestError`, as when a model cannot be made.
    private static let throwing = TransformingScenarios.entry(
        ResponseContentTransformer("throwing") { (entity: Entity<[UInt8]>) throws -> [UInt8]? in
            throw Quoting(description: "cannot parse \(String(decoding: entity.content, as: UTF8.self))")
        })

    /// A service with such a pipeline.
    private func run(
        privacy: ServicePrivacy = .shared, _ entry: ConfigurationEntry = strict, _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                service.privacy = privacy
                if privacy == .partitioned { service.identity = [.field("X-User")] }
                service.configure { $0.retryTime = .seconds(30) }
                service.declare = { $0.add(entry) }
            }
        } _: { (scene) async throws in
            try await body(scene)
        }
    }

    private static func broken(_ cacheControl: String, for user: String?) -> String {
        .ok("Cache-Control: \(cacheControl)", json, content: "{\"of\":\"\(user ?? "nobody")\" x")
    }

    private static let unshared = ["private", "no-store", "no-cache", "private, max-age=60"]

    @Test(arguments: unshared, [ServicePrivacy.shared, .partitioned])
    func `one client's refused response concerns no other one`(
        _ directives: String, _ privacy: ServicePrivacy
    )
        async throws
    {
        try await run(privacy: privacy) { (scene) async throws in
            let anna = try await scene.client("anna")
            try await anna.get(scene.url("/a"), "X-User: one", "Cookie: anna")
            let first = try await scene.origin.request()
            let bob = try await scene.client("bob")
            try await bob.get(scene.url("/a"), "X-User: one", "Cookie: bob")
            try await eventually("both wait") {
                var interest = 0
                scene.proxy.registry.forEach { interest += $0.memory.loads.map(\.interest).reduce(0, +) }
                return interest == 2
            }
            scene.origin.answer { Self.broken(directives, for: $0["Cookie"]) }
            try await first.reply("Cache-Control: \(directives)", Self.json, content: "{\"of\":\"anna\" x")
            let own = try await anna.response()
            #expect(own.status == 502 && own.text.contains("anna"))
            let other = try await bob.response()
            #expect(other.status == 502 && other.text.contains("bob") && !other.text.contains("anna"), "\(other.text)")
            let later = try await scene.get("/a", "X-User: one", "Cookie: dora")
            #expect(later.status == 502 && later.text.contains("dora"), "\(later.text)")
            scene.origin.answer { _ in .ok(Self.json, content: "{}") }
            #expect(try await scene.get("/a", "X-User: one").status == 200)
        }
    }

    @Test func `a refused response that is for everybody is asked for once until it is tried again`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in Self.broken("max-age=60", for: "all") }
            for _ in 1...3 { #expect(try await scene.get("/a", "Cookie: c").text.contains("all")) }
            #expect(scene.origin.seen.count == 1)
            scene.advance(.seconds(31))
            #expect(try await scene.get("/a").status == 502)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `a refused variant does not stand for the others`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { request in
                let language = request["Accept-Language"] ?? ""
                let content = language == "de" ? "{}" : "{\"of\":\"\(language)\" x"
                return .ok("Cache-Control: max-age=60", "Vary: Accept-Language", Self.json, content: content)
            }
            for _ in 1...2 { #expect(try await scene.get("/a", "Accept-Language: fr").text.contains("fr")) }
            #expect(scene.origin.seen.count == 1)
            #expect(try await scene.get("/a", "Accept-Language: de").status == 200)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test(arguments: [ServicePrivacy.shared, .private, .partitioned])
    func `Larder's own pages quote no refused response that is not for everybody`(
        _ privacy: ServicePrivacy
    )
        async throws
    {
        try await run(privacy: privacy) { (scene) async throws in
            for directives in ["max-age=60", "private", "no-store"] {
                scene.origin.answer { _ in Self.broken(directives, for: "quoted") }
                let path = "/\(directives.prefix(2))"
                #expect(try await scene.get(path, "X-User: one", "Cookie: anna").text.contains("quoted"))
                let reports = [
                    "\(try await scene.state(path))",
                    "\(try await scene.ask("/-/explain?url=\(scene.url(path))"))",
                    "\(try await scene.ask("/-/explain?url=\(scene.url(path))&header=X-User:%20one"))",
                ]
                for report in reports {
                    #expect(!report.contains("quoted") || privacy == .shared && directives == "max-age=60", "\(report)")
                }
                if privacy == .shared { #expect(reports[0].contains("refused in stage"), "\(reports[0])") }
            }
        }
    }

    @Test(arguments: ["max-age=60", "private", "no-store"])
    func `the words of what a transformer throws are told to those who may have the response`(
        _ directives: String
    )
        async throws
    {
        try await run(Self.throwing) { (scene) async throws in
            scene.origin.answer { _ in Self.broken(directives, for: "quoted") }
            let own = try await scene.get("/a", "Cookie: anna")
            #expect(
                own.status == 502 && own.text.contains("cannot parse") && own.text.contains("quoted"), "\(own.text)")
            let isForAll = directives == "max-age=60"
            let state = "\(try await scene.state("/a"))"
            let explanation = "\(try await scene.ask("/-/explain?url=\(scene.url("/a"))"))"
            #expect(state.contains("cannot parse") == isForAll && state.contains("quoted") == isForAll, "\(state)")
            #expect(explanation.contains("cannot parse") == isForAll && explanation.contains("quoted") == isForAll)
            let line = scene.log.values.first { $0.contains("answered with an error") } ?? ""
            #expect(line.contains("by ‘throwing’") && line.contains("cannot parse") == isForAll, "\(line)")
            #expect(line.contains("quoted") == isForAll, "\(line)")
        }
    }

    @Test func `a response that is for some alone is quoted nowhere`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { _ in
                .ok("Cache-Control: max-age=60", "Vary: Cookie", Self.json, content: "{\"of\":\"quoted\" x")
            }
            #expect(try await scene.get("/a", "Cookie: anna").text.contains("quoted"))
            #expect(try await !"\(scene.state("/a"))".contains("quoted"))
        }
    }

    @Test(arguments: ["Set-Cookie: id=", "X-Token: "])
    func `a refused response with a field for one client alone concerns that client`(_ field: String) async throws {
        try await run(Self.tellingFields) { (scene) async throws in
            scene.origin.answer {
                .ok("Cache-Control: max-age=60, private=\"X-Token\"", field + ($0["X-Name"] ?? ""), content: "some")
            }
            #expect(try await scene.get("/a", "X-Name: anna").text.contains("anna"))
            let other = try await scene.get("/a", "X-Name: bob")
            #expect(other.text.contains("bob") && !other.text.contains("anna"), "\(other.text)")
            #expect(try await !"\(scene.state("/a"))".contains("anna"))
        }
    }

    @Test func `what is stored and refused by a new pipeline answers only those who may have it`() async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/"))
        } _: { (scene) async throws in
            scene.origin.answer { request in
                let directives = request.target == "/all" ? "max-age=600" : "no-cache, max-age=600"
                return Self.broken(directives, for: request["Cookie"])
            }
            for path in ["/own", "/all"] { #expect(try await scene.get(path, "Cookie: anna").status == 200) }
            try await scene.reload { $0.services[0].declare = { $0.add(Self.strict) } }
            #expect(try await scene.get("/all", "Cookie: bob").text.contains("anna"))
            let other = try await scene.get("/own", "Cookie: bob")
            #expect(other.status == 502 && other.text.contains("bob") && !other.text.contains("anna"), "\(other.text)")
            let asked = scene.origin.seen.count
            #expect(try await scene.get("/own", "Cookie: bob", "Cache-Control: only-if-cached").status == 504)
            scene.proxy.goOffline(.on, service: nil)
            let offline = try await scene.get("/own", "Cookie: bob")
            #expect(offline.status == 504 && !offline.text.contains("anna"), "\(offline.text)")
            scene.proxy.goOffline(nil, service: nil)
            #expect(scene.origin.seen.count == asked)
            scene.origin.answer { _ in .ok(Self.json, content: "{}") }
            #expect(try await scene.get("/own", "Cookie: bob").status == 200)
        }
    }

    @Test func `a decorator that words a refusal anew does not tell it to others`() async throws {
        let entry = ConfigurationEntry(description: "wording") {
            $0.pipeline[.model].add(
                ClosureTransformer("strict") { response in
                    guard case .success(let entity) = response, let octets = entity.content as? [UInt8] else {
                        return response
                    }
                    let cause = Quoting(description: "cannot parse \(String(decoding: octets, as: UTF8.self))")
                    return .failure(RequestError(entity: entity, cause: cause, timestamp: entity.timestamp))
                })
            $0.decorateRequests { _, request in
                request.chained { info in
                    guard case .failure(var error) = info.response else { return .useThisResponse }
                    error.userMessage = "Shop: \(error.userMessage)"
                    error.status = 404
                    return .useResponse(ResponseInfo(.failure(error)))
                }
            }
        }
        try await run(entry) { (scene) async throws in
            scene.origin.answer { Self.broken("private", for: $0["Cookie"]) }
            let own = try await scene.get("/a", "Cookie: anna")
            #expect(own.status == 502 && own.text.contains("Shop:"), "\(own.text)")
            #expect(try await !"\(scene.state("/a"))".contains("anna"))
        }
    }

    @Test(arguments: [404, 200])
    func `an error that a transformer throws has the status it names, and not the origin's content`(
        _ status: Int
    )
        async throws
    {
        let refusal = RequestError(
            status: status == 200 ? nil : Status(status), userMessage: "The model says no",
            timestamp: Timestamp(seconds: 0))
        let entry = ConfigurationEntry(description: "refusing") {
            $0.pipeline[.model].add(
                ClosureTransformer("refusing") { response in
                    if case .success = response { .failure(refusal) } else { response }
                })
            // A later one that looks at errors as well.
            $0.pipeline[.cleanup].add(
                ClosureTransformer("marking") { response in
                    response.mapError { error in
                        var error = error
                        error.entity?.fields["X-Served-By"] = "larder"
                        return error
                    }
                })
        }
        try await run(entry) { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", Self.json, content: "{\"secret\":1}") }
            let answer = try await scene.get("/a")
            #expect(answer.status == (status == 200 ? 502 : status))
            #expect(answer.text.contains("The model says no") && !answer.text.contains("secret"), "\(answer.text)")
        }
    }
}
