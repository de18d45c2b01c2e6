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

/// What a program's resource says of itself goes by the decision that clients' requests go by.
extension OneMindScenarios {
    /// Services in Swift, by name.
    private static let programs: [String: @Sendable (inout Configuration) -> Void] = [
        "heuristic": { _ in },
        "fallback": { $0.expirationTime = .seconds(60) },
        "cap": {
            $0.expirationTime = .seconds(20)
            $0.expirationMode = .cap
        },
        "longer": {
            $0.expirationTime = .seconds(90)
            $0.expirationMode = .floor
        },
        "override": {
            $0.expirationTime = .seconds(30)
            $0.expirationMode = .override
        },
        "tolerant": {
            $0.staleWhileRevalidate = .seconds(100)
            $0.staleIfError = .seconds(100)
            $0.retryTime = .seconds(30)
        },
        "own": { $0.privacy = .private },
        "cached-nowhere": { $0.caching = .none },
        "json": { $0.pipeline.add(.json) },
    ]

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `RS-07 RS-17 RS-18 a program's resource is up to date exactly if clients are answered without the origin`(
        seed: UInt64
    ) async throws {
        let services = Lock<[String: Service]>([:])
        try await Scenario.run { settings, origin in
            for (name, configure) in Self.programs {
                settings.add(name, at: origin.url("/\(name)/")) {
                    $0.declare = { service in
                        services.withLock { $0[name] = service }
                        service.configure { configure(&$0) }
                    }
                }
            }
            settings.upstream.breaker.failures = 3
            settings.timeouts.idle = .seconds(1_000_000)
            settings.timeouts.upstream = .seconds(1_000_000)
        } _: { scene in
            var words: [String: Int] = [:]
            let client = try await scene.client()
            for number in 0..<250 {
                let name = Self.programs.keys.sorted()[number % Self.programs.count]
                let service = try #require(services.withLock { $0[name] })
                var trial = Trial(scene, client, number: number, seed: seed &+ 300, service: name)
                let resource = service.resource("\(number)")
                do {
                    for word in try await trial.compareProgram(resource) { words[word, default: 0] += 1 }
                } catch {
                    let notes = trial.notes.joined(separator: "\n")
                    Issue.record(
                        """
                        \(trial.path): \(error)
                        \(notes)
                        \(resource.memory.loads.count) loads, the origin was asked \(scene.origin.count(of: trial.path)) times
                        """)
                    throw error
                }
            }
            // Each outcome has occurred, so that nothing is compared in vain.
            for word in [
                "up to date", "up to date by an error", "out of date", "loaded if needed", "loaded for a client",
                "held",
                "refused",
            ] {
                #expect(words[word] ?? 0 > 3, "\(word): \(words)")
            }
        }
    }
}

extension OneMindScenarios.Trial {
    /// Compares what the resource says with the explanation of a plain request, and then with what happens: to such a
    /// request, and to the program's load. The words for it.
    mutating func compareProgram(_ resource: Resource) async throws -> [String] {
        let subject = try scene.proxy.subject(of: scene.url(path))
        defer { recover(subject) }
        try await settle(resource)
        for _ in 0..<random.pick([0, 1, 2, 2, 3, 4]) {
            try await happen(to: resource)
            try await settle(resource)
        }
        remember(in: resource)
        hold(subject)
        choose(subject)
        let situation = await Situation(subject, method: .get, fields: request.fields, in: scene.proxy)
        let (plan, explanation) = (situation.plan, Explanation(situation))
        let isUpToDate = resource.isUpToDate
        // A daemon may have an error, or content that the pipeline makes nothing of, which the program has not seen: it
        // has nothing then, and loads.
        let isKnown = resource.latestData != nil || resource.latestError != nil
        let context = Comment(
            rawValue: """
                \(path)
                \(notes.joined(separator: "\n"))
                explained: \(explanation.decision) \(explanation.cacheStatus ?? "-")
                the program: \(resource), up to date: \(isUpToDate)
                """)
        let isPlanned = plan.isUpToDate && isKnown
        // It waits an error of its own out, which clients do not.
        let waiting = resource.latestError.map {
            max(resource.configuration.retryTime, $0.retryAfter ?? .zero) >= scene.proxy.now - $0.timestamp
        }
        #expect(isUpToDate == isPlanned || isUpToDate && waiting == true, context)
        var words = [isUpToDate ? "up to date" : "out of date"]
        if isUpToDate, resource.latestError != nil { words.append("up to date by an error") }
        if plan.wait != nil, !plan.isUpToDate { words.append("held") }
        if case .refuse = plan.action { words.append("refused") }
        let asks = plan.asksOrigin || plan.refreshes
        scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "new") }
        let before = scene.origin.count(of: path)
        if isUpToDate || random.chance(50) {
            let load = resource.loadIfNeeded()
            #expect((load == nil) == isUpToDate, context)
            guard let load else { return words + (try await checkAnswer(explanation, plan, context)) }
            _ = await load.response()
            try await settle(resource)
            if isKnown { #expect((scene.origin.count(of: path) - before == 1) == asks, context) }
            if asks { words.append("loaded if needed") }
            return words
        }
        words += try await checkAnswer(explanation, plan, context)
        try await settle(resource)
        return words
    }

    /// A client asks, and gets what was explained.
    private func checkAnswer(_ explanation: Explanation, _ plan: Plan, _ context: Comment) async throws -> [String] {
        let before = scene.origin.count(of: path)
        let response = try await ask()
        let status = response["Cache-Status"]
        let isFromCache = status?.contains("; hit") == true && status?.contains("; detail=") == false
        if plan.refreshes {
            let path = path
            try await eventually("it is refreshed: \(context)") { scene.origin.count(of: path) == before + 1 }
        } else {
            #expect((scene.origin.count(of: path) - before == 1) == plan.asksOrigin, context)
        }
        if plan.asksOrigin {
            #expect(status?.hasPrefix(explanation.cacheStatus ?? "nothing") == true, "\(status ?? "-") \(context)")
            return ["loaded for a client"]
        }
        if case .refuse = plan.action { #expect(response.status == 504, context) }
        #expect(status == explanation.cacheStatus, context)
        return isFromCache ? ["answered"] : []
    }

    // MARK: What has happened before

    /// Something that clients, the program or the origin do to the resource.
    private mutating func happen(to resource: Resource) async throws {
        let time = Duration.milliseconds(random.pick([0, 0, 500, 1_000, 9_999, 10_000, 30_000, 60_000, 100_000]))
        scene.advance(time)
        let event = random.pick(["client", "client", "client", "load", "if needed", "invalidate", "override", "wipe"])
        notes.append("after \(time): \(event)")
        switch event {
        case "client":
            let imagined = reply()
            let lines = imagined.requestLines + (random.chance(40) ? ["Cache-Control: no-cache"] : [])
            notes.append("asked with \(lines)")
            _ = try await scene.get(path, lines)
        case "load":
            _ = reply()
            _ = await resource.load().response()
        case "if needed":
            _ = reply()
            _ = await resource.loadIfNeeded()?.response()
        case "invalidate": resource.invalidate()
        case "override": resource.overrideLocalContent(with: "overridden" as any Sendable)
        default: resource.wipe(random.pick([.memory, .memoryAndCaches]))
        }
        await resource.service.finishCacheWork()
    }

    /// Has the origin answer so until something else is said.
    private mutating func reply() -> ImaginedResponse {
        var imagined = ImaginedResponse(&random)
        // A part that the pipeline would have to transform is dropped before anything is decided.
        while service == "json", imagined.status == 206 { imagined = ImaginedResponse(&random) }
        if imagined.status == 200 {
            imagined.status = random.pick([200, 200, 200, 200, 404, 410, 429, 500])
            // Content that a pipeline cannot parse, now and then.
            imagined.content = random.pick(["[1]", "[1]", "[1"])
            imagined.lines.append("Content-Type: application/json")
        }
        if imagined.status == 429, random.chance(50) { imagined.lines.append("Retry-After: 20") }
        notes.append("the origin has \(imagined.status) \(imagined.lines) \(imagined.content)")
        let text = OriginRequest.response(Int(imagined.status.rawValue), imagined.lines, content: imagined.content)
        let validation = OriginRequest.response(304, imagined.lines)
        let isConfirmed = random.chance(50)
        scene.origin.answer { head in
            isConfirmed && head["If-None-Match"] == "\"a\"" ? validation : text
        }
        return imagined
    }

    /// Waits until nothing goes on: no load, and no read of what clients have.
    private func settle(_ resource: Resource) async throws {
        _ = resource.latestData
        try await eventually("\(path) rests: \(notes)") {
            resource.memory.loads.isEmpty && !resource.isRequesting
                && resource.readProgram { $0?.machine.cacheCheck == .done }
        }
    }
}
