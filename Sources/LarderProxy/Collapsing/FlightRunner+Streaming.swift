// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import LarderUpstream

/// Responses that go on as they come, while memory and store take the same chunks.
extension FlightRunner {
    /// Lets a response through that is not kept.
    func pass(_ response: UpstreamResponse, _ arrival: Arrival) async throws {
        let unstored = arrival.unstored
        launch.resource.memory.unstored = unstored
        flight.isNotStored(because: unstored.reason)
        context.counters.count(.unstored(unstored.reason))
        flight.announce(.response(arrival.head, length: arrival.length, stored: nil))
        try await stream(response, into: nil, keepsInMemory: false)
        flight.finish(trailers: response.trailers)
    }

    /// Lets a response through and keeps it.
    func keep(_ response: UpstreamResponse, _ arrival: Arrival) async throws {
        let stored = arrival.storedResponse()
        let keepsInMemory = context.proxy.keepsInMemory(arrival.length)
        let writer = beginWriting(stored, arrival)
        flight.announce(
            .response(arrival.head, length: arrival.length, stored: stored), retains: keepsInMemory,
            expected: arrival.length.map(Int.init) ?? 0, spool: writer.map(Spool.init))
        do {
            try await stream(response, into: writer, keepsInMemory: keepsInMemory)
        } catch {
            writer?.abort()
            throw error
        }
        complete(stored, writer, trailers: response.trailers)
    }

    /// Where the content goes on its way to the store; nil when it goes to memory alone.
    func beginWriting(_ stored: StoredResponse, _ arrival: Arrival) -> EntityWriter? {
        guard arrival.durability != .memory else { return nil }
        return context.proxy.storing?.begin(
            stored, of: launch.resource, service: launch.service, length: arrival.length, policy: launch.policy)
    }

    /// Moves content from the upstream to readers and store.
    private func stream(_ response: UpstreamResponse, into writer: EntityWriter?, keepsInMemory: Bool) async throws {
        var retains = keepsInMemory && flight.isRetaining
        var writer = writer
        let limit = context.proxy.memoryObjectLimit
        var total = 0
        while let chunk = try await response.nextChunk() {
            total += chunk.count
            context.counters.add(.received, chunk.count)
            // Before content leaves memory for it.
            writer = stillOpen(writer)
            if retains, total > limit {
                retains = false
                flight.stopRetaining()
                if writer == nil { noteTooLarge(response.head) }
            }
            if let growing = writer, Int64(total) > context.proxy.storedObjectLimit {
                if !retains { await flight.retireSpool() }
                growing.abort()
                writer = nil
                noteTooLarge(response.head)
            }
            if let slow = writer, !retains, await !keepsPace(slow) {
                await flight.retireSpool()
                slow.giveUp()
                writer = nil
            }
            writer?.append(chunk)
            writer = stillOpen(writer)
            flight.append(chunk)
            // There may be no room for it beside other loads.
            retains = retains && flight.isRetaining
            await flight.room()
        }
    }

    /// The writer, unless it has given up: then nobody must rely on reading back from it.
    private func stillOpen(_ writer: EntityWriter?) -> EntityWriter? {
        guard let writer, case .abandoned = writer.state else { return writer }
        flight.dropSpool()
        return nil
    }

    /// Gives a store that fell behind a moment to catch up. When it does not, slow readers have to hold the load back
    /// instead of reading what is on disk: going on, the store would run full, and with it goes their place.
    private func keepsPace(_ writer: EntityWriter) async -> Bool {
        guard let storing = context.proxy.storing else { return true }
        var patience = 50
        while storing.isBehind, case .open = writer.state, patience > 0 {
            patience -= 1
            await context.sleep(for: .milliseconds(2))
        }
        return !storing.isBehind
    }

    /// Makes the response a variant of its Resource, then lets the readers go.
    private func complete(_ stored: StoredResponse, _ writer: EntityWriter?, trailers: Fields) {
        let memory = launch.resource.memory
        let policy = policyAtLanding(of: stored)
        if policy == nil || isSuperseded(stored) { writer?.abort() }
        let isStored = writer?.finish() ?? false
        guard let whole = flight.retainedContent else {
            // Once more, as it may have happened before the store heard of the entity.
            if isSuperseded(stored) {
                context.proxy.storing?.remove(stored.variance, of: launch.resource, service: launch.service)
            } else if isStored {
                // Too large for memory: the next request finds it in the store.
                memory.forgetStoreRead(variance: stored.variance)
            }
            finish(trailers)
            return
        }
        guard let policy else { return finish(trailers) }
        let chunks = ContentChunk.coalesced(whole)
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: stored.complete(length: Int64(length), policy: policy).marked(stored.standing, policy: policy),
            content: .memory(chunks, length: length),
            storedAt: stored.responseTime, via: context.configuration.via)
        if case .landed(let replaced) = memory.land(variant, epoch: epoch, mark: mark) {
            judgeAgain(after: policy)
            context.proxy.storing?.removeReplaced(replaced, by: variant, of: launch.resource, service: launch.service)
            context.proxy.registry.charge(launch.resource, content: memory.cost)
        } else {
            context.proxy.storing?.remove(variant, of: launch.resource, service: launch.service)
        }
        finish(trailers)
    }

    /// Nobody joins any more: who comes now finds what has landed.
    private func finish(_ trailers: Fields) {
        launch.resource.memory.retire(flight)
        flight.finish(trailers: trailers)
    }
}

/// A writer as readers of a flight see it.
private struct Spool: ContentSpool {
    let writer: EntityWriter

    func read(at offset: Int64, count: Int) async -> ContentChunk? { await writer.readBack(at: offset, count: count) }
}
