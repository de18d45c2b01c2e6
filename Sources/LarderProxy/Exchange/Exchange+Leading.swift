// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

extension Exchange {
    /// Runs a load in this client's task until all of it is received: for most, until the origin answers. A longer load
    /// continues in a task of its own, and this client reads it like any other, so that a slow or leaving client does
    /// not affect the others.
    func lead(
        _ load: Load, _ status: CacheStatus, _ fallback: Variant?, _ retrieval: inout Retrieval
    ) async throws -> Bool {
        let flight = load.flight
        let reader = flight.read(isFirst: true)
        defer {
            stopWatching()
            flight.leave(reader)
        }
        do {
            try watchClient(whileAwaiting: .led(load, reader: reader))
        } catch {
            load.start()
            throw error
        }
        load.leader = onInterim
        load.begin()
        var answer: Flight.Answer?
        var content: ResponseContent?
        do {
            let outcome = try await load.ask()
            switch outcome {
            case .settled(let variant):
                load.end()
                keepCookies(load.cookies, retrieval)
                answer = .settled(variant)
            case .received(let response, let arrival, let treatment):
                answer = try load.takeAtOnce(response, arrival, treatment)
                if answer == nil {
                    load.goOn(with: outcome)
                } else {
                    content = ResponseContent(
                        response.contentHere, trailers: response.trailers, of: flight, for: reader)
                }
            }
        } catch {
            load.fail(error)
            answer = .failed(error)
        }
        guard load.leader != nil else { throw ClientGone() }
        load.leader = nil
        let told = if let answer { answer } else { try await self.answer(of: flight, for: reader) }
        return try await give(
            told, content ?? ResponseContent(of: flight, for: reader), isLeader: true, status, fallback, &retrieval)
    }

    private func keepCookies(_ values: [String], _ retrieval: Retrieval) {
        guard !values.isEmpty else { return }
        var fields = Fields()
        for value in values { fields.append(.setCookie, value) }
        ownCookies = (retrieval.way.isGateway ? mapped(fields, retrieval) : fields)[all: .setCookie]
    }
}
