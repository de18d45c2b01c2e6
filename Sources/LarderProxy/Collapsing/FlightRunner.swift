// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import LarderUpstream

/// Performs one load: asks the upstream, tells the flight's readers, and puts what may be kept into memory and
/// store. Confined to the loop it was started on.
final class FlightRunner {
    private let launch: FlightLaunch
    private let flight: Flight
    private let context: LoopContext
    /// The Resource's epoch when the load began: what began before a wipe does not land after it.
    private let epoch: UInt64
    private let abort: UpstreamAbort

    private struct Times {
        var request: Timestamp
        var response: Timestamp
    }

    init(launch: FlightLaunch, flight: Flight) {
        self.launch = launch
        self.flight = flight
        context = launch.context
        epoch = launch.resource.memory.epoch
        abort = UpstreamAbort()
    }

    func run() async {
        if launch.isBackground { flight.leave(flight.read()) } else { watchInterest() }
        do {
            try await load(launch.request, validating: launch.validating)
        } catch {
            context.counters.add(.upstreamErrors)
            if !abort.isAborted { remember(error) }
            flight.fail(error)
        }
        launch.resource.memory.retire(flight)
    }

    /// When all clients have left, the load gets its grace and is then cancelled (T-15).
    private func watchInterest() {
        let grace = context.configuration.settings.timeouts.abandon
        let loop = context.loop
        let flight = flight
        let abort = Confined(abort)
        flight.onAbandoned { [weak flight] in
            loop.execute { [weak flight] loop in
                loop.timer(after: grace) {
                    if flight?.interest == 0 { abort.value.abort() }
                }
            }
        }
    }

    // MARK: The request

    private func load(_ request: RequestHead, validating variant: Variant?) async throws {
        let requestTime = context.now()
        context.counters.add(.upstreamRequests)
        var inbound = UpstreamRequest(
            origin: Origin(launch.uri), head: request, parent: launch.service.parent(launch.uri),
            allowsAddress: launch.allowsAddress, abort: abort)
        inbound.onInterim = { [flight] in flight.announce(interim: $0) }
        let response = try await context.upstream.send(inbound)
        let times = Times(request: requestTime, response: context.now())
        if response.head.status == 304, let variant {
            return try await settle(variant, by: response, times)
        }
        try await receive(response, times)
    }

    /// A 304 to our own conditional request freshens what it is about. When it is about nothing we have, the
    /// request is sent again without conditions (B-03).
    private func settle(_ variant: Variant, by response: UpstreamResponse, _ times: Times) async throws {
        while try await response.nextChunk() != nil {}
        let memory = launch.resource.memory
        let variants = memory.snapshot.variants
        guard let validated = variants.firstIndex(where: { $0 === variant }) else {
            return try await loadUnconditionally()
        }
        let match = Validation.match(
            response.head.fields, request: launch.clientHead.fields, candidates: variants.map(\.stored),
            validated: validated)
        guard case .update(let indexes, _) = match else { return try await loadUnconditionally() }
        var answer: Variant?
        for index in indexes {
            if let fresh = freshen(variants[index], with: response.head, times), index == validated || answer == nil {
                answer = fresh
            }
        }
        guard let answer else { return try await loadUnconditionally() }
        flight.announce(.settled(answer))
        flight.finish(trailers: Fields())
    }

    /// The variant with the fields of the 304, in memory and store; nil when it could not be replaced.
    private func freshen(_ variant: Variant, with response: ResponseHead, _ times: Times) -> Variant? {
        let memory = launch.resource.memory
        let decision = Freshening.freshen(
            variant.stored, with: response, to: launch.clientHead, requestTime: times.request,
            responseTime: times.response, policy: launch.policy)
        switch decision {
        case .updated(let stored):
            let fresh = variant.with(stored, via: context.configuration.via)
            guard memory.replace(variant, by: fresh) else { return nil }
            context.proxy.storing?.update(fresh, of: launch.resource, service: launch.service, policy: launch.policy)
            return fresh
        case .discard(let stored, _):
            memory.removeVariants { $0 === variant }
            context.proxy.storing?.remove(variant, of: launch.resource, service: launch.service)
            return variant.with(stored, via: context.configuration.via)
        case .stale, .untouched:
            return nil
        }
    }

    private func loadUnconditionally() async throws {
        var request = launch.request
        for name in [FieldName.ifNoneMatch, .ifModifiedSince, .ifRange] { request.fields.remove(name) }
        try await load(request, validating: nil)
    }

    // MARK: The response

    private func receive(_ response: UpstreamResponse, _ times: Times) async throws {
        var head = response.head
        HopByHop.strip(&head.fields, for: .forwardResponse)
        if !head.fields.contains(.date) { head.fields[.date] = context.dateText() }
        let storability = Storability.decide(
            request: launch.clientHead, target: launch.uri, response: head, policy: launch.policy,
            responseTime: times.response)
        let length = response.contentLength
        guard case .store(_, let durability) = storability, context.proxy.mayKeep(length), response.head.status != 206
        else {
            launch.resource.memory.unstored = UnstoredResponse(
                head, at: times.response,
                conditions: Storability.conditions(
                    request: launch.clientHead, target: launch.uri, response: head, policy: launch.policy,
                    responseTime: times.response))
            flight.announce(.response(head, length: length, stored: nil))
            try await stream(response, into: nil, keepsInMemory: false)
            flight.finish(trailers: response.trailers)
            return
        }
        let stored = StoredResponse(
            head, to: launch.clientHead, requestTime: times.request, responseTime: times.response,
            contentLength: length,
            policy: launch.policy)
        let keepsInMemory = context.proxy.keepsInMemory(length)
        let writer =
            durability == .memory
            ? nil
            : context.proxy.storing?.begin(
                stored, of: launch.resource, service: launch.service, length: length, policy: launch.policy)
        flight.announce(
            .response(head, length: length, stored: stored), retains: keepsInMemory, spool: writer.map(Spool.init))
        do {
            try await stream(response, into: writer, keepsInMemory: keepsInMemory)
        } catch {
            writer?.abort()
            throw error
        }
        complete(stored, writer, trailers: response.trailers)
    }

    /// Moves content from the upstream to readers and store.
    private func stream(_ response: UpstreamResponse, into writer: EntityWriter?, keepsInMemory: Bool) async throws {
        var retains = keepsInMemory
        var writer = writer
        let limit = context.proxy.memoryObjectLimit
        var total = 0
        while let chunk = try await response.nextChunk() {
            total += chunk.count
            context.counters.add(.received, chunk.count)
            if retains, total > limit {
                retains = false
                flight.stopRetaining()
            }
            if let growing = writer, Int64(total) > context.proxy.storedObjectLimit {
                if !retains { await flight.retireSpool() }
                growing.abort()
                writer = nil
            }
            writer?.append(chunk)
            flight.append(chunk)
            await flight.room()
            if let writer, !retains { await keepPace(writer) }
        }
    }

    /// Gives a store that fell behind a moment to catch up. If it does not, or gave up, slow readers hold the load
    /// back instead of reading what is on disk.
    private func keepPace(_ writer: EntityWriter) async {
        var patience = 50
        while context.proxy.storing?.isBehind == true, writer.state == .open, patience > 0 {
            patience -= 1
            await context.sleep(for: .milliseconds(2))
        }
        if case .abandoned = writer.state { flight.dropSpool() }
    }

    /// Makes the response a variant of its Resource, then lets the readers go.
    private func complete(_ stored: StoredResponse, _ writer: EntityWriter?, trailers: Fields) {
        let memory = launch.resource.memory
        // What was asked for before a wipe is not stored after it (B-12).
        if memory.epoch != epoch { writer?.abort() }
        let isStored = writer?.finish() ?? false
        guard let whole = flight.retainedContent else {
            if memory.epoch != epoch {
                context.proxy.storing?.remove(stored.variance, of: launch.resource, service: launch.service)
            } else if isStored {
                // Too large for memory: the next request finds it in the store.
                memory.forgetStoreRead(variance: stored.variance)
            }
            finish(trailers)
            return
        }
        let chunks = ContentChunk.coalesced(whole)
        let length = chunks.reduce(0) { $0 + $1.count }
        let variant = Variant(
            stored: stored.complete(length: Int64(length), policy: launch.policy),
            content: .memory(chunks, length: length),
            storedAt: stored.responseTime, via: context.configuration.via)
        if case .landed(let replaced) = memory.land(variant, epoch: epoch) {
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

    private func remember(_ error: any Error) {
        let now = context.now()
        // An origin that answered badly once may answer well the next time.
        guard launch.policy.retryTime > .zero, (error as? UpstreamError)?.isUnreachable == true else { return }
        launch.resource.memory.remember(
            LoadFailure(at: now, retryAt: now + launch.policy.retryTime, error: error))
    }
}

/// A writer as readers of a flight see it.
private struct Spool: ContentSpool {
    let writer: EntityWriter

    func read(at offset: Int64, count: Int) async -> ContentChunk? { await writer.readBack(at: offset, count: count) }
}
