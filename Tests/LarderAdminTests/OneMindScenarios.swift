// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import Larder
@testable import LarderAdmin
@testable import LarderProxy
@testable import LarderUpstream

/// The daemon treats a request as `larder explain` says, in whatever situation it comes.
@Suite("Scenarios: of one mind")
struct OneMindScenarios {
    /// One situation is made, explained and then met by a real request.
    struct Trial {
        let scene: Scenario
        let client: Wire
        let number: Int
        var random: SeededNumbers

        let service: String
        var request: ImaginedRequest
        var notes: [String] = []
        /// The request of a load that was begun before, until the origin answers it.
        var begun: (request: OriginRequest, load: Task<LoadOutcome, any Error>)?

        /// A plain request for a service.
        init(_ scene: Scenario, _ client: Wire, number: Int, seed: UInt64, service: String) {
            (self.scene, self.client, self.number, self.service) = (scene, client, number, service)
            random = SeededNumbers(seed: seed &* 1_000_003 &+ UInt64(number))
            request = ImaginedRequest(.get)
        }

        init(_ scene: Scenario, _ client: Wire, number: Int, seed: UInt64) {
            (self.scene, self.client, self.number) = (scene, client, number)
            random = SeededNumbers(seed: seed &* 1_000_003 &+ UInt64(number))
            request = ImaginedRequest(&random)
            let mayBeKeyed = request.method == .post || request.method == .query
            let isWanted = random.chance(40)
            service = mayBeKeyed && isWanted ? "keyed" : random.pick(OneMindScenarios.services + ["-"])
            if service == "keyed", mayBeKeyed {
                request.content = "[1,2]"
                request.lines.append("Content-Type: application/json")
            }
        }

        /// The mark of the content that is part of the key.
        var mark: ContentMark? {
            guard service == "keyed", request.method == .post || request.method == .query else { return nil }
            return RequestContentIdentity(
                Array(request.content.utf8), fields: request.fields, method: request.method
            ).mark
        }

        var path: String { (service == "-" ? "/unclaimed/" : "/\(service)/") + String(number) }
    }

    static let services = [
        "plain", "auto", "offline", "uncached", "lenient", "floor", "partitioned", "private", "quota", "keyed",
    ]

    static func run(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run { settings, origin in
            for name in services {
                settings.add(name, at: origin.url("/\(name)/")) { service in
                    switch name {
                    case "auto": service.offline = .auto
                    case "offline": service.offline = .on
                    case "uncached": service.configure { $0.caching = Configuration.Caching.none }
                    case "lenient":
                        service.configure {
                            $0.staleWhileRevalidate = .seconds(100)
                            $0.staleIfError = .seconds(100)
                            $0.retryTime = .seconds(30)
                        }
                    case "floor":
                        service.configure {
                            $0.expirationTime = Expiration(time: .seconds(90), mode: .floor)
                        }
                    case "partitioned": service.privacy = .partitioned
                    case "private": service.privacy = .private
                    case "quota": service.quotaReserve = 1
                    case "keyed": service.configure { $0.keyedByContent = true }
                    default: break
                    }
                }
            }
            settings.upstream.breaker.failures = 3
            // Much time passes between two requests.
            settings.timeouts.idle = .seconds(1_000_000)
            settings.timeouts.upstream = .seconds(1_000_000)
        } _: { scene in
            scene.origin.answer { head in
                head[Trial.held] == nil ? .ok("Cache-Control: no-store", content: "new") : nil
            }
            try await body(scene)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `daemon and explanation agree about two thousand situations`(seed: UInt64) async throws {
        try await Self.run { scene in
            var words: [String: Int] = [:]
            var notes: [String: Int] = [:]
            var client = try await scene.client()
            for number in 0..<500 {
                var trial = Trial(scene, client, number: number, seed: seed)
                let (word, isOver) = try await trial.run()
                words[word, default: 0] += 1
                for note in trial.notes { notes[note, default: 0] += 1 }
                if isOver {
                    await client.close()
                    client = try await scene.client()
                }
            }
            // Each kind of decision has occurred, so that nothing is compared in vain.
            for word in ["answer", "answer-stale", "validate", "forward", "refuse", "wait"] {
                #expect(words[word] ?? 0 > 3, "\(words)")
            }
            for note in ["held: quota", "waits for a load", "keyed by its content"] {
                #expect(notes[note] ?? 0 > 3, "\(note): \(notes[note] ?? 0)")
            }
        }
    }
}

extension OneMindScenarios.Trial {
    /// The word of the decision, and whether the client's connection takes no more requests.
    mutating func run() async throws -> (word: String, isOver: Bool) {
        let (subject, resource) = try await arrange(mayBegin: true)
        defer { recover(subject) }
        let situation = await Situation(subject, method: request.method, fields: request.fields, in: scene.proxy)
        let explanation = Explanation(situation)
        let isWaiting = situation.isLoading && situation.passing == nil && situation.plan.asksOrigin
        try await send()
        if isWaiting {
            notes.append("waits for a load")
            try await eventually("the request waits: \(notes)") {
                resource.memory.loads.contains { $0.interest > 1 }
            }
            try await release()
        }
        let response = try await client.response(to: "\(request.method)")
        try await release()
        try await check(explanation, situation.plan, response, isWaiting: isWaiting)
        // A refresh that the origin answers later would say of the next situation that the origin is well.
        try await eventually("the loads end") { resource.memory.loads.isEmpty }
        return (explanation.decision.word, response["Connection"] == "close")
    }

    // MARK: Making it

    /// Makes the situation; `recover` must follow.
    mutating func arrange(mayBegin: Bool = false) async throws -> (ResourceSubject, Resource) {
        if mark != nil { notes.append("keyed by its content") }
        let subject = try scene.proxy.subject(of: scene.url(path) + (mark.map { "#" + $0.text } ?? ""))
        let partition = subject.service.partition(of: request.fields, for: subject.uri, from: .machine)
        let resource = scene.proxy.registry.resource(for: subject.key(in: partition)) { key in
            subject.service.makeResource(key: key, partition: partition, url: subject.uri)
        }
        store(in: resource, subject)
        if mayBegin, partition == .shared, subject.content == nil, !["offline", "uncached"].contains(service) {
            try await beginLoad(of: subject)
        }
        remember(in: resource)
        hold(subject)
        choose(subject)
        return (subject, resource)
    }

    private mutating func store(in resource: Resource, _ subject: ResourceSubject) {
        let configuration = subject.service.configuration(for: resource)
        for _ in 0..<random.pick([0, 1, 1, 1, 2, 3]) {
            let imagined = ImaginedResponse(&random)
            let age = Duration.milliseconds(random.pick([0, 500, 20_000, 45_000, 60_000, 100_000, 400_000]))
            let time = scene.proxy.now - age
            notes.append("stored \(imagined.status) \(imagined.lines) for \(imagined.requestLines), \(age) ago")
            let stored = StoredResponse(
                ResponseHead(status: imagined.status, fields: Fields(lines: imagined.lines)),
                to: RequestHead(method: subject.method, target: path, fields: Fields(lines: imagined.requestLines)),
                requestTime: time, responseTime: time, contentLength: Int64(imagined.content.utf8.count),
                policy: configuration.policy)
            let chunk = ContentChunk(imagined.content.utf8)
            resource.memory.land(
                Variant(
                    stored: stored, content: .memory([chunk], length: chunk.count), storedAt: time, via: "1.1 test"))
        }
    }

    mutating func remember(in resource: Resource) {
        guard random.chance(25) else { return }
        let now = scene.proxy.now
        let retryAt = now + .seconds(random.pick([-1, 1, 5]))
        notes.append("failed, asked again \(retryAt == now + .seconds(-1) ? "already" : "later")")
        resource.memory.remember(
            LoadFailure(at: now, retryAt: retryAt, error: UpstreamError(.connectionRefused, "Nobody listens.")))
    }

    private func inbound(_ subject: ResourceSubject, _ target: String? = nil) -> UpstreamRequest {
        var head = RequestHead(method: .get, target: subject.uri.pathAndQuery, fields: request.fields)
        if let target { head.target = Array(target.utf8) }
        var inbound = UpstreamRequest(origin: Origin(subject.uri), head: head)
        inbound.belongsToService = subject.service.base != nil
        return inbound
    }

    /// The field by which the origin lets a request wait.
    static let held = "X-Held"

    /// Begins a load that lasts until `release`.
    private mutating func beginLoad(of subject: ResourceSubject) async throws {
        guard random.chance(15) else { return }
        notes.append("a load is under way")
        let proxy = scene.proxy
        let load = Task {
            try await proxy.load(subject, fields: ["X-Held": "1"], onlyIfNeeded: false, from: .machine)
        }
        begun = (try await scene.origin.request(), load)
    }

    /// Has the load end that was begun.
    private mutating func release() async throws {
        guard let (request, load) = begun else { return }
        begun = nil
        try await request.reply("Cache-Control: max-age=60", content: "new")
        _ = try await load.value
    }

    mutating func hold(_ subject: ResourceSubject) {
        if service == "quota", random.chance(50) {
            notes.append("held: quota")
            scene.proxy.quotas.note(
                ResponseHead(status: 200, fields: ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "20"]),
                to: RequestHead(method: request.method, target: subject.uri.pathAndQuery, fields: request.fields),
                insists: false, of: service, now: scene.proxy.now, at: scene.proxy.time.monotonic())
        }
        guard random.chance(35) else { return }
        let (origins, limits) = (scene.proxy.origins, scene.proxy.configuration.upstreamSettings.breaker)
        var now: Int64 { scene.proxy.time.monotonic() }
        let kind = random.pick(["url", "origin", "open", "due", "probed"])
        notes.append("held: \(kind)")
        switch kind {
        case "url", "origin":
            let status = random.pick([429, 503] as [Status])
            let targets: [String?] = kind == "url" ? [nil] : ["/p/1", "/p/2", "/p/3"]
            for target in targets {
                origins.answered(
                    inbound(subject, target), status: status, pause: .seconds(30), ticket: OriginWatch.Ticket(),
                    limits: limits, now: now)
                if target != nil { scene.advance(.milliseconds(500)) }
            }
        default:
            for _ in 0..<3 {
                origins.failed(
                    inbound(subject), error: UpstreamError(.connectionRefused, "Nobody listens."),
                    ticket: OriginWatch.Ticket(), limits: limits, now: now)
            }
            if kind != "open" { scene.advance(.seconds(1)) }
            if kind == "probed" { _ = try? origins.admit(inbound(subject), limits: limits, now: now) }
        }
    }

    mutating func choose(_ subject: ResourceSubject) {
        guard random.chance(20) else { return }
        let mode = random.pick([OfflineMode.on, .off, .auto])
        notes.append("chosen: offline \(mode)")
        scene.proxy.goOffline(mode, service: random.chance(50) ? subject.service.name : nil)
    }

    func recover(_ subject: ResourceSubject) {
        scene.proxy.goOffline(nil, service: nil)
        var inbound = inbound(subject)
        inbound.bypassesBackoff = true
        scene.proxy.origins.answered(
            inbound, status: 200, pause: nil, ticket: OriginWatch.Ticket(),
            limits: scene.proxy.configuration.upstreamSettings.breaker, now: scene.proxy.time.monotonic())
        // Long enough for all other pauses.
        scene.advance(.seconds(31))
    }

    // MARK: Meeting it

    func ask() async throws -> WireMessage {
        try await send()
        return try await client.response(to: "\(request.method)")
    }

    private func send() async throws {
        let head = ["\(request.method) \(scene.url(path)) HTTP/1.1", "Host: \(scene.origin.authority)"] + request.lines
        try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n" + request.content)
    }

    private func check(
        _ explanation: Explanation, _ plan: Plan, _ response: WireMessage, isWaiting: Bool
    ) async throws {
        let asked = scene.origin.seen.filter { $0.target == path && $0[Self.held] == nil }
        let status = response["Cache-Status"]
        let context = Comment(
            rawValue: """
                \(request.method) \(path) \(request.lines)
                \(notes.joined(separator: "\n"))
                explained: \(explanation.decision) \(explanation.cacheStatus ?? "-")
                answered: \(response.status) \(status ?? "-"), asked \(asked.map(\.text))
                """)
        switch explanation.decision.word {
        case "answer", "wait":
            #expect(asked.isEmpty, context)
            #expect(status == explanation.cacheStatus, context)
        case "answer-stale":
            if plan.refreshes, !notes.contains("a load is under way") {
                let path = path
                try await eventually("it is refreshed: \(context)") { scene.origin.count(of: path) == 1 }
            } else if !plan.refreshes {
                #expect(asked.isEmpty, context)
            }
            #expect(status == explanation.cacheStatus, context)
        case "refuse":
            #expect(asked.isEmpty, context)
            #expect(response.status == 504, context)
        case "validate" where isWaiting, "forward" where isWaiting:
            #expect(asked.isEmpty, context)
            #expect(status?.contains("; collapsed") == true, context)
            #expect(explanation.cacheStatus?.hasSuffix("; collapsed") == true, context)
        case "validate", "forward":
            #expect(asked.count == 1, context)
            #expect(status?.hasPrefix(explanation.cacheStatus ?? "nothing") == true, context)
            guard explanation.decision.word == "validate", let asked = asked.first else { return }
            #expect(asked["If-None-Match"] != nil || asked["If-Modified-Since"] != nil, context)
        default: Issue.record("an unknown word: \(context)")
        }
    }
}
