// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

extension Exchange {
    /// Runs a load in this client's task until all of it is here, which for most is when the origin answers. What lasts
    /// longer goes on in a task of its own, and this client reads along like any other: its slowness, or that it leaves,
    /// is no concern of theirs.
    func lead(
        _ runner: FlightRunner, _ status: CacheStatus, _ fallback: Variant?, _ retrieval: inout Retrieval
    ) async throws -> Bool {
        let flight = runner.flight
        let reader = flight.read(isFirst: true)
        defer {
            stopWatching()
            flight.leave(reader)
        }
        do {
            try watchClient(whileAwaiting: .led(runner, reader: reader))
        } catch {
            runner.start()
            throw error
        }
        runner.leader = (self, reader)
        runner.begin()
        var answer: Flight.Answer?
        var content = ResponseContent(of: flight, for: reader)
        do {
            let outcome = try await runner.ask()
            switch outcome {
            case .settled(let variant):
                runner.end()
                keepCookies(runner.cookies, retrieval)
                answer = .settled(variant)
            case .received(let response, let arrival, let treatment):
                answer = try runner.takeAtOnce(response, arrival, treatment)
                if answer == nil {
                    runner.goOn(with: outcome)
                } else {
                    content = ResponseContent(
                        response.contentHere, trailers: response.trailers, of: flight, for: reader)
                }
            }
        } catch {
            runner.fail(error)
            answer = .failed(error)
        }
        guard runner.leader != nil else { throw ClientGone() }
        runner.leader = nil
        if let answer { return try await give(answer, content, isLeader: true, status, fallback, &retrieval) }
        let announced = try await self.answer(of: flight, for: reader)
        return try await give(announced, content, isLeader: true, status, fallback, &retrieval)
    }

    private func keepCookies(_ values: [String], _ retrieval: Retrieval) {
        guard !values.isEmpty else { return }
        var fields = Fields()
        for value in values { fields.append(.setCookie, value) }
        ownCookies = (retrieval.way.isGateway ? mapped(fields, retrieval) : fields)[all: .setCookie]
    }
}
