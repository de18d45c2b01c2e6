// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Requests for transformed responses.
extension CacheLookup {
    /// A response to HEAD must not describe bytes that a GET would not return.
    func hideOriginalOctets(of response: inout ResponseHead) {
        let pipelineUse = configuration.pipelineUse(
            of: response, length: nil, in: resource, limit: context.transformedContentLimit)
        if pipelineUse == .transformed { WireFields.removeThoseOfOriginalOctets(from: &response.fields) }
    }

    /// The selected variant, if it was not transformed by the current configuration.
    func outdated(in snapshot: ResourceMemory.Snapshot) -> Variant? {
        guard let index = Reuse.select(request.head, snapshot.candidates, policy: policy) else { return nil }
        let variant = snapshot.variants[index]
        // An operator's override is never transformed.
        return variant.isOverride || variant.fingerprint == configuration.fingerprint ? nil : variant
    }

    /// Transforms a stored response again, once for all requests that need it, and then decides anew. Answers only when
    /// the pipeline refuses it: with the refusal if the response is for everybody, else from the origin.
    mutating func retransform(_ variant: Variant) async throws -> Bool {
        let memory = resource.memory
        if let failure = memory.snapshot.failure, failure.error is PipelineFailure,
            failure.recent(for: request.head)?.isRecent(at: context.now()) == true
        {
            throw Problem(upstream: failure.error, place: request.uri.authority)
        }
        let load = Load(for: self, validating: nil, isBackground: false)
        load.remaking = variant
        let running: ActiveLoad
        switch memory.join(where: { $0.isRemaking && $0.version == load.version }, orStart: { load.listed }) {
        case .overtaken, .unshared: return false
        case .joined(let others): running = others
        case .started(let own):
            running = own
            load.start()
        }
        let shared = running.share()
        let reader = shared.read()
        defer {
            watch.stop()
            running.leave(reader)
        }
        try watch.start(whileAwaiting: .load(running, reader: reader))
        let loaded = LoadedAnswer(lookup: self, status: CacheStatus(.hit), fallback: nil)
        switch try await loaded.answer(of: shared, for: reader) {
        case .settled:
            return false
        case .failed(is StoreUnavailable):
            try await bypass(reason: .miss)
            return true
        case .failed(let error):
            if let refused = (error as? PipelineFailure)?.refused {
                guard refused.variance.matches(request.head.fields) else { return false }
                guard isForEveryone(refused) else { return try await askForItself() }
            }
            throw Problem(upstream: error, place: request.uri.authority)
        case .response(let response, let length, let stored):
            guard let stored, stored.variance.matches(request.head.fields) else { return false }
            guard isForEveryone(stored) else { return try await askForItself() }
            writer.record.kind = .hit
            let head = ResponseHead(status: response.status, fields: stored.sharable(response.fields))
            try await loaded.relay(
                head, length, ResponseContent(of: running, shared, for: reader), CacheStatus(.hit), isShared: true)
            return true
        }
    }

    private func isForEveryone(_ stored: StoredResponse) -> Bool {
        Reuse.answersEveryone(stored, policy, at: context.now())
    }

    /// Decides as if nothing were stored: that is refused, and may have been another client's.
    private mutating func askForItself() async throws -> Bool {
        let snapshot = resource.memory.snapshot
        self.snapshot = snapshot
        asksAlone = true
        let plan = Plan.decide(request.head, [], policy: policy, now: context.now()) { outlook }
        return try await carryOut(plan, snapshot, isNew: false)
    }
}
