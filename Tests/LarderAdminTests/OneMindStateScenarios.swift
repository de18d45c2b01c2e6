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

/// The reported state goes by the decision that requests go by.
extension OneMindScenarios {
    @Test(arguments: 1...2 as ClosedRange<UInt64>)
    func `a state is up to date exactly if the next plain request is not sent`(seed: UInt64) async throws {
        try await Self.run { scene in
            var counts = [0, 0]
            var client = try await scene.client()
            for number in 0..<500 {
                var trial = Trial(scene, client, number: number, seed: seed &+ 100)
                let (isUpToDate, isOver) = try await trial.compareState()
                counts[isUpToDate ? 1 : 0] += 1
                if isOver {
                    await client.close()
                    client = try await scene.client()
                }
            }
            #expect(counts[0] > 50 && counts[1] > 50, "\(counts)")
        }
    }
}

extension OneMindScenarios.Trial {
    /// Compares the state reported for everybody with the answer to a request for the newest response.
    mutating func compareState() async throws -> (isUpToDate: Bool, isOver: Bool) {
        request = ImaginedRequest(.get)
        let (subject, resource) = try await arrange()
        defer { recover(subject) }
        let selectors = resource.memory.snapshot.variants.first?.stored.variance.selectors ?? []
        request.lines = selectors.compactMap { selector in
            selector.value.map { "\(selector.name): \(String(decoding: $0, as: UTF8.self))" }
        }
        let state = try await scene.state(path)
        let reported = state["isUpToDate"]?.bool ?? false
        let response = try await ask()
        try await eventually("the loads end") { resource.memory.loads.isEmpty }
        let status = response["Cache-Status"] ?? ""
        // A fresh response, or the last failure.
        let isKnown =
            status.contains("detail=retry-time") || status.contains("; fwd=")
            || status.contains("; hit") && !status.contains("detail=")
        let isUpToDate = isKnown && scene.origin.count(of: path) == 0
        #expect(
            reported == isUpToDate,
            """
            \(path) \(request.lines)
            \(notes.joined(separator: "\n"))
            reported: \(reported)
            answered: \(response.status) \(status), asked \(scene.origin.count(of: path)) times
            """)
        return (isUpToDate, response["Connection"] == "close")
    }
}
