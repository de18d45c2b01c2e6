// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

extension Exchange {
    /// Answers with a stored variant. False when its content turned out to be gone: the caller decides anew.
    func serve(_ variant: Variant, _ use: StoredUse, _ retrieval: Retrieval) async throws -> Bool {
        var use = use
        if variant.isOverride { use.status.detail = "override" }
        if let forms = variant.forms { return try await serve(variant, in: forms, use, retrieval) }
        return try await serveAsIs(variant, use, retrieval)
    }

    /// Answers with a variant in its stored form.
    func serveAsIs(
        _ variant: Variant, _ use: StoredUse, _ retrieval: Retrieval, ignoringRange: Bool = false
    ) async throws -> Bool {
        var use = use
        if let word = variant.detail { use.status.note(word) }
        record.cacheStatus = use.status
        if traits.presence.isDisjoint(with: [.conditional, .range]), traits.method == .get,
            case .memory(let chunks, let length) = variant.content, !variant.stored.isPartial,
            !(variant.namesLocations && retrieval.way.isGateway), page == .none, ownCookies.isEmpty,
            !mapsLinks(retrieval), pace(of: variant, retrieval) == nil
        {
            return try await serveWhole(variant, chunks, length, use, retrieval)
        }
        return try await serveSelected(variant, use, retrieval, ignoringRange: ignoringRange)
    }

    /// The ordinary hit: the prepared head, the time-dependent fields, and the content, in one write.
    private func serveWhole(
        _ variant: Variant, _ chunks: [ContentChunk], _ length: Int, _ use: StoredUse, _ retrieval: Retrieval
    ) async throws -> Bool {
        record.status = variant.served.status
        if context.configuration.settings.log.access { sentType = variant.served.fields[first: .contentType] }
        out.removeAll(keepingCapacity: true)
        out.append(contentsOf: variant.head)
        if retrieval.way.sharesOrigin, traits.has(.browser) { PageFields.appendSandbox(to: &out) }
        delivery = record.status.hasNoContent ? .none : .length
        momentStart = out.count
        use.append(to: &out)
        appendConnection()
        PreparedHead.appendLineEnd(to: &out)
        keepInFront(variant, delivery == .none ? [] : chunks, retrieval)
        context.counters.add(.saved, length)
        try await sendHead(with: chunks)
        return true
    }

    /// Other hits: preconditions, ranges, mapped URLs, content in the store.
    private func serveSelected(
        _ variant: Variant, _ use: StoredUse, _ retrieval: Retrieval, ignoringRange: Bool
    ) async throws -> Bool {
        let stored = variant.served
        // A validation may have freshened another response than the selected one.
        if stored.isPartial, !Ranges.covers(stored, head) { return false }
        var fields =
            retrieval.way.isGateway && variant.namesLocations ? mapped(stored.fields, retrieval) : stored.fields
        fields.remove(.age)
        beginLinks(in: &fields, of: stored.status, retrieval.service, retrieval.way, retrieval.configuration)

        switch Preconditions.evaluate(head, against: stored) {
        case .notModified:
            startHead(status: 304, fields: Preconditions.notModifiedFields(fields))
            finishHead(length: nil, use: use)
            if !retrieval.way.isGateway || !(variant.namesLocations || mapsLinks(retrieval)) {
                keepInFront(variant, [], retrieval)
            }
            try await sendHead()
            return true
        case .preconditionFailed(let field):
            throw Problem.preconditionFailed(by: field)
        case .proceed:
            break
        }

        guard let cursor = await ContentCursor.open(variant.content) else { return contentIsGone(variant, retrieval) }
        switch ignoringRange || links != nil ? .whole(.notAsked) : Ranges.evaluate(head, against: stored) {
        case .whole:
            startHead(status: stored.status, fields: fields)
            finishHead(length: cursor.length, use: use)
            return try await sendOrForget(variant, retrieval) {
                if let pace = pace(of: variant, retrieval) {
                    try await replay(cursor, pace)
                } else {
                    try await send(cursor, 0..<cursor.length, headFirst: true)
                }
                if links != nil { try await endContent() }
            }
        case .unsatisfiable(let length):
            startHead(status: 416, fields: ["Content-Range": "bytes */\(length)", "Date": context.dateText()])
            finishHead(length: 0, use: use)
            try await sendHead()
        case .single(let range, let completeLength):
            guard let offset = stored.extent.offset(of: range.first) else { return contentIsGone(variant, retrieval) }
            return try await sendOrForget(variant, retrieval) {
                try await send(cursor, range, at: offset, completeLength, fields, use)
            }
        case .multiple(let ranges, let completeLength):
            // The boundary is chosen anew each time, so that nobody can put it into content beforehand.
            let plan = MultipartPlan(
                ranges, completeLength: completeLength, contentType: fields.withFirst(.contentType) { Array($0) },
                boundary: "larder-" + String(UInt64.random(in: .min ... .max), radix: 36))
            return try await sendOrForget(variant, retrieval) { try await send(cursor, plan, fields, use) }
        }
        return true
    }

    /// Sends stored content. Content that cannot be read to its end is removed, so that the next request does not fail
    /// in the same way; false when nothing was sent yet, so that this one need not fail either.
    private func sendOrForget(
        _ variant: Variant, _ retrieval: Retrieval, _ send: () async throws -> Void
    ) async throws -> Bool {
        do {
            try await send()
            return true
        } catch let problem as Problem where problem == .storedContentLost {
            _ = contentIsGone(variant, retrieval)
            if hasResponded { throw problem }
            return false
        }
    }

    /// A 206 with one range (RFC 9110 §15.3.7.1).
    private func send(
        _ cursor: ContentCursor, _ range: ByteRange, at offset: Int64, _ completeLength: Int64?, _ fields: Fields,
        _ use: StoredUse
    ) async throws {
        var fields = fields
        let total = completeLength.map(String.init) ?? "*"
        fields[.contentRange] = "bytes \(range.first)-\(range.last)/\(total)"
        fields.remove(.contentDigest)
        fields.remove(.contentMD5)
        startHead(status: 206, fields: fields)
        finishHead(length: range.count, use: use)
        try await send(cursor, offset..<offset + range.count, headFirst: true)
    }

    /// A 206 with several ranges (RFC 9110 §15.3.7.2).
    private func send(
        _ cursor: ContentCursor, _ multipart: MultipartPlan, _ fields: Fields, _ use: StoredUse
    ) async throws {
        var fields = fields
        fields[.contentType] = multipart.contentType
        fields.remove(.contentDigest)
        fields.remove(.contentMD5)
        startHead(status: 206, fields: fields)
        finishHead(length: multipart.contentLength, use: use)
        try await sendHead()
        for part in multipart.parts {
            try await sendContent([ContentChunk(part.head)])
            try await send(cursor, part.range.first..<part.range.last + 1, headFirst: false)
        }
        try await sendContent([ContentChunk(multipart.end)])
    }

    /// Sends octets of stored content, a chunk at a time.
    ///
    /// - Throws: when the store cannot read them; the announced content is then visibly incomplete.
    func send(_ cursor: ContentCursor, _ range: Range<Int64>, headFirst: Bool) async throws {
        guard delivery != .none, !range.isEmpty else {
            if headFirst { try await sendHead() }
            return
        }
        var offset = range.lowerBound
        let piece = Int64(context.proxy.pieceSize)
        var isHeadPending = headFirst
        while offset < range.upperBound {
            let count = Int(min(piece, range.upperBound - offset))
            guard let chunks = await cursor.read(at: offset, count: count) else { throw Problem.storedContentLost }
            let taken = chunks.reduce(0) { $0 + Int64($1.count) }
            offset += taken
            context.counters.add(.saved, Int(taken))
            if isHeadPending {
                isHeadPending = false
                try await sendHead(with: chunks)
            } else {
                try await sendContent(chunks)
            }
        }
    }

    private func contentIsGone(_ variant: Variant, _ retrieval: Retrieval) -> Bool {
        retrieval.resource.memory.removeVariants { $0 === variant }
        context.storing?.remove(variant, of: retrieval.resource, service: retrieval.service)
        return false
    }

    /// `fields` as a gateway client must see them.
    func mapped(_ fields: Fields, _ retrieval: Retrieval) -> Fields {
        mapped(fields, service: retrieval.service, way: retrieval.way)
    }

    func mapped(_ fields: Fields, service: RoutedService, way: Way) -> Fields {
        guard GatewayMapping.concerns(fields) else { return fields }
        return GatewayMapping(
            table: context.configuration.router.table, service: service, way: way, target: uri,
            authority: head.fields[first: .host] ?? connection.client.localHost, isSecure: stream.isSecure,
            isForBrowser: traits.has(.browser)
        ).mapped(fields)
    }
}
