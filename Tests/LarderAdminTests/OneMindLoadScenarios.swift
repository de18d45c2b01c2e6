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

/// Loads that operators ask for go by the decision that requests go by.
extension OneMindScenarios {
    @Test(arguments: [false, true], 1...2 as ClosedRange<UInt64>)
    func `an operator's load goes as a request like it would`(onlyIfNeeded: Bool, seed: UInt64) async throws {
        try await Self.run { scene in
            var words: [String: Int] = [:]
            let client = try await scene.client()
            for number in 0..<500 {
                var trial = Trial(scene, client, number: number, seed: seed &+ 200)
                words[try await trial.compareLoad(onlyIfNeeded: onlyIfNeeded), default: 0] += 1
            }
            for word in onlyIfNeeded ? ["stored", "loaded", "failed"] : ["loaded", "failed"] {
                #expect(words[word] ?? 0 > 20, "\(words)")
            }
        }
    }
}

extension OneMindScenarios.Trial {
    /// Compares a load with the explanation of a request like it. The word for its outcome.
    mutating func compareLoad(onlyIfNeeded: Bool) async throws -> String {
        request.method = .get
        request.lines.removeAll { line in
            ["Content-Length", "Connection", "Upgrade"].contains { line.hasPrefix($0 + ":") }
        }
        let (subject, resource) = try await arrange()
        defer { recover(subject) }
        var wished = request.fields
        if !onlyIfNeeded { wished.append(.cacheControl, "no-cache") }
        let situation = await Situation(subject, method: .get, fields: wished, in: scene.proxy)
        let plan = situation.plan
        let isKept = situation.passing == nil
        let mayAsk = isKept && (plan.asksOrigin || plan.refreshes)
        let word: String
        var error: (any Error)?
        do {
            let outcome = try await scene.proxy.load(
                subject, fields: request.fields, onlyIfNeeded: onlyIfNeeded, from: .machine)
            if case .upToDate = outcome { word = "stored" } else { word = "loaded" }
        } catch let failure {
            word = "failed"
            error = failure
        }
        try await eventually("the loads end") { resource.memory.loads.isEmpty }
        let isStored =
            switch plan.action {
            case .answer, .answerStale(_, .maxStale): onlyIfNeeded && isKept && !mayAsk
            default: false
            }
        let asked = scene.origin.count(of: path)
        #expect(
            asked == (mayAsk ? 1 : 0) && word == (mayAsk ? "loaded" : isStored ? "stored" : "failed"),
            """
            \(path) \(request.lines)
            \(notes.joined(separator: "\n"))
            planned: \(plan)
            \(word): \(error.map { "\($0)" } ?? ""), asked \(asked) times
            """)
        return word
    }
}
