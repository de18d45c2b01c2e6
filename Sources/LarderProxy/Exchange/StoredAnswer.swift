// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// The answer to a client with a stored variant. Confined to its loop.
struct StoredAnswer: ExchangeStep {
    let lookup: CacheLookup
    var variant: Variant
    var use: StoredUse
    /// The inputs of a plain hit, whose reply is cached.
    let repeatable: Repeatable?
    /// True if a range is not for the coding that is sent.
    var ignoresRange = false

    var exchange: Exchange { lookup.exchange }

    init(lookup: CacheLookup, variant: Variant, use: StoredUse, repeatable: Repeatable?) {
        self.lookup = lookup
        self.variant = variant
        self.use = use
        self.repeatable = repeatable
        if variant.isOverride { self.use.status.detail = "override" }
    }

    /// Answers in the coding for the client. False when the content turned out to be gone: to be decided anew.
    mutating func send() async throws -> Bool {
        do {
            if let forms = variant.forms { return try await negotiate(forms) }
            return try await sendAsIs()
        } catch is StoreUnavailable where !writer.hasResponded {
            // The stored content stays for later requests.
            var lookup = lookup
            lookup.isUnread = true
            try await lookup.bypass(reason: .miss)
            return true
        }
    }

    /// Answers with the variant in its stored form.
    private mutating func sendAsIs() async throws -> Bool {
        if let word = variant.detail { use.status.note(word) }
        writer.record.cacheStatus = use.status
        if request.traits.presence.isDisjoint(with: [.conditional, .range]), request.traits.method == .get,
            case .memory(let chunks, let length) = variant.content, !variant.stored.isPartial,
            !(variant.namesLocations && request.form.isGateway), writer.page == .none, writer.ownCookies.isEmpty,
            !lookup.mapsLinks, pace == nil
        {
            return try await sendWhole(chunks, length)
        }
        return try await sendSelected()
    }

    /// The ordinary hit: the prepared head, the time-dependent fields, and the content, in one write.
    private func sendWhole(_ chunks: [ContentChunk], _ length: Int) async throws -> Bool {
        writer.writeHead(of: variant, use)
        cacheReply(writer.delivery == .none ? [] : chunks)
        countSaved(length)
        try await writer.sendContent(chunks)
        return true
    }

    /// Other hits: preconditions, ranges, mapped URLs, content in the store.
    private func sendSelected() async throws -> Bool {
        let stored = variant.served
        // A validation may have freshened another response than the selected one.
        if stored.isPartial, !Ranges.covers(stored, request.head) { return false }
        var fields = variant.namesLocations ? request.mapped(stored.fields, by: lookup.service) : stored.fields
        fields.remove(.age)
        writer.links = lookup.mapsLinks ? lookup.links.begin(in: &fields, of: stored.status) : nil
        switch Preconditions.evaluate(request.head, against: stored) {
        case .notModified:
            writer.startHead(status: 304, fields: Preconditions.notModifiedFields(fields))
            writer.finishHead(length: nil, use: use)
            if !request.form.isGateway || !(variant.namesLocations || lookup.mapsLinks) { cacheReply([]) }
            try await writer.sendHead()
            return true
        case .preconditionFailed(let field):
            throw Problem.preconditionFailed(by: field)
        case .proceed:
            break
        }
        guard let cursor = try await ContentCursor.open(variant.content) else { return contentIsGone() }
        return try await send(cursor, fields)
    }

    /// Sends the part of the content that the request selects.
    private func send(_ cursor: ContentCursor, _ fields: Fields) async throws -> Bool {
        let stored = variant.served
        let isWhole = ignoresRange || writer.links != nil
        switch isWhole ? .whole(.notAsked) : Ranges.evaluate(request.head, against: stored) {
        case .whole:
            writer.startHead(status: stored.status, fields: fields)
            writer.finishHead(length: cursor.length, use: use)
            return try await sendOrForget {
                if let pace {
                    try await replay(cursor, pace)
                } else {
                    try await send(cursor, 0..<cursor.length)
                }
                if writer.links != nil { try await writer.endContent() }
            }
        case .unsatisfiable(let length):
            writer.startHead(
                status: 416, fields: ["Content-Range": "bytes */\(length)", "Date": context.dateText()])
            writer.finishHead(length: 0, use: use)
            try await writer.sendHead()
            return true
        case .single(let range, let completeLength):
            guard let offset = stored.extent.offset(of: range.first) else { return contentIsGone() }
            return try await sendOrForget { try await send(cursor, range, at: offset, completeLength, fields) }
        case .multiple(let ranges, let completeLength):
            // The boundary is random each time, so that content cannot contain it beforehand.
            let plan = MultipartPlan(
                ranges, completeLength: completeLength, contentType: fields.withFirst(.contentType) { Array($0) },
                boundary: "larder-" + String(UInt64.random(in: .min ... .max), radix: 36))
            return try await sendOrForget { try await send(cursor, plan, fields) }
        }
    }

    /// Sends stored content. Content that is lost before its end is removed, so that the next request does not fail in
    /// the same way; false when nothing was sent yet, so that this one need not fail either.
    private func sendOrForget(_ send: () async throws -> Void) async throws -> Bool {
        do {
            try await send()
            return true
        } catch let problem as Problem where problem == .storedContentLost {
            _ = contentIsGone()
            if writer.hasResponded { throw problem }
            return false
        }
    }

    /// A 206 with one range (RFC 9110 §15.3.7.1).
    private func send(
        _ cursor: ContentCursor, _ range: ByteRange, at offset: Int64, _ completeLength: Int64?, _ fields: Fields
    ) async throws {
        var fields = fields
        let total = completeLength.map(String.init) ?? "*"
        fields[.contentRange] = "bytes \(range.first)-\(range.last)/\(total)"
        writePartialHead(fields, length: range.count)
        try await send(cursor, offset..<offset + range.count)
    }

    /// A 206 with several ranges (RFC 9110 §15.3.7.2).
    private func send(_ cursor: ContentCursor, _ multipart: MultipartPlan, _ fields: Fields) async throws {
        var fields = fields
        fields[.contentType] = multipart.contentType
        writePartialHead(fields, length: multipart.contentLength)
        for part in multipart.parts {
            try await writer.sendContent([ContentChunk(part.head)])
            try await send(cursor, part.range.first..<part.range.last + 1)
        }
        try await writer.sendContent([ContentChunk(multipart.end)])
    }

    /// - Parameter fields: with digests, which are of the whole content.
    private func writePartialHead(_ fields: Fields, length: Int64) {
        var fields = fields
        fields.remove(.contentDigest)
        fields.remove(.contentMD5)
        writer.startHead(status: 206, fields: fields)
        writer.finishHead(length: length, use: use)
    }

    /// Sends bytes of stored content, a chunk at a time, after the head.
    ///
    /// - Throws: when the store cannot read them; the announced content is then visibly incomplete.
    func send(_ cursor: ContentCursor, _ range: Range<Int64>) async throws {
        guard writer.delivery != .none, !range.isEmpty else { return try await writer.sendHead() }
        var offset = range.lowerBound
        let piece = Int64(context.proxy.pieceSize)
        while offset < range.upperBound {
            let count = Int(min(piece, range.upperBound - offset))
            guard let chunks = try await cursor.read(at: offset, count: count) else { throw Problem.storedContentLost }
            let taken = chunks.reduce(0) { $0 + Int64($1.count) }
            offset += taken
            countSaved(Int(taken))
            try await writer.sendContent(chunks)
        }
    }

    /// Counts bytes that the origin did not send for this client.
    private func countSaved(_ octets: Int) {
        if writer.record.kind != .miss { context.counters.add(.saved, octets) }
    }

    private func contentIsGone() -> Bool {
        lookup.resource.memory.removeVariants { $0 === variant }
        context.diskTier?.discard(variant, of: lookup.resource, service: lookup.service)
        return false
    }

    /// Caches the reply for the same request. To be called when the whole head is written.
    private func cacheReply(_ content: [ContentChunk]) {
        guard let repeatable, writer.isPersistent == request.traits.isPersistent,
            writer.record.cacheStatus?.outcome == .hit, let counters = writer.record.counters,
            repeatable.generation == context.requestCache.generation, lookup.service.isKeyedByHead,
            variant.content.bytesInMemory <= RequestCache.contentLimit, !variant.isOverride
        else { return }
        context.requestCache.keep(
            CachedReply(
                to: request.received, from: repeatable.client, with: variant, head: writer.lastingHead,
                content: content, of: lookup.resource, lookup.service.service, snapshot: repeatable.snapshot,
                version: lookup.version, closes: !writer.isPersistent, counters: counters,
                credentials: request.principal.name == nil ? nil : connection.proof?.credentials),
            to: request.received)
    }
}

/// Stored content for clients that accept other codings than the stored one.
extension StoredAnswer {
    /// Answers in the coding negotiated for the request.
    private mutating func negotiate(_ forms: CodedForms) async throws -> Bool {
        guard let recoding = variant.served.recoding else { return try await sendAsIs() }
        let decision = recoding.decide(
            request.head.fields, eTag: variant.served.facts.eTag, length: variant.content.length)
        if decision.coding != recoding.stored, let form = await form(decision.coding, of: forms) {
            variant = form
            ignoresRange = decision.ignoresRange
            return try await sendAsIs()
        }
        guard request.accepts(recoding.stored, variant.stored) else {
            var lookup = lookup
            try await lookup.bypass(reason: .varyMiss)
            return true
        }
        variant = forms.asItCame(variant)
        return try await sendAsIs()
    }

    private func form(_ coding: ServedCoding, of forms: CodedForms) async -> Variant? {
        let (context, uri, variant) = (context, request.uri, variant)
        var isNew = false
        let form = await forms.form(coding, of: variant) {
            isNew = true
            return await ContentRecoder(context.proxy, lookup.service, limit: context.memoryObjectLimit)
                .make(coding, of: variant, uri)
        }
        if isNew { context.registry.charge(lookup.resource) }
        return form
    }
}

/// Stored streams of events that are sent at the pace at which they came.
extension StoredAnswer {
    /// The pace at which the whole content is sent; nil for at once.
    var pace: StreamPace? { lookup.configuration.replaysPaced ? variant.pace : nil }

    /// Sends head and content. Bytes that are due wait for a slow client as any others do; it gets the bytes that have
    /// become due meanwhile as fast as it takes them.
    func replay(_ cursor: ContentCursor, _ pace: StreamPace) async throws {
        guard writer.delivery != .none else { return try await writer.sendHead() }
        let pause = Pause(on: context.loop)
        try watch.start(whileAwaiting: .pause(pause))
        defer { watch.stop() }
        let beganAt = context.loop.monotonicHere()
        var sent: Int64 = 0
        for step in pace.steps {
            let now = context.loop.monotonicHere()
            let rest = step.due - .nanoseconds(now - beganAt)
            if rest > .zero {
                try await writer.sendHead()
                let isThere = await pause.wait(for: rest)
                writer.record.pauses += context.loop.monotonicHere() - now
                guard isThere else { throw ClientGone() }
            }
            try await send(cursor, sent..<step.end)
            sent = step.end
        }
        try await send(cursor, sent..<cursor.length)
    }
}

/// The inputs of a reply from memory, beside the bytes of the request.
struct Repeatable {
    let snapshot: ResourceMemory.Snapshot
    let generation: Int
    let client: ClientKind

    /// Nil when another request with the same head may have to be answered differently.
    init?(_ snapshot: ResourceMemory.Snapshot, of request: ClientRequest) {
        guard !request.received.isEmpty, let client = request.connection.kind,
            request.traits.version == .http11, request.span == nil, Reuse.isPlain(request.head),
            // After a reload, an admitted head belongs to no user until it is admitted again.
            request.users === request.context.configuration.users
        else { return nil }
        self.snapshot = snapshot
        self.client = client
        generation = request.context.requestCache.generation
    }
}
