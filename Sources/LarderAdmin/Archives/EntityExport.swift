// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderStores

/// An archive of stored responses, produced while it is sent: `archive.json`, then for each response `entities/N.json`
/// (head), `entities/N.octets` (content) and `entities/N.sha256` (digests of both), and `summary.json`. An archive
/// without `summary.json` is incomplete.
///
/// `@unchecked Sendable`: the exchange that sends it asks for one piece after another, on its loop.
final class EntityExport: OwnContent, @unchecked Sendable {
    /// The version of the format. Readers take no other.
    static let format = 1

    private enum Phase {
        case beginning, entities, ended
    }

    private struct Counts {
        var entities = 0
        var bytes: Int64 = 0
        var personal: [PersonalReason: Int] = [:]
        var partial = 0
        var damaged = 0
        var unreadable = 0

        /// Counts an entity that is left out.
        mutating func add(_ flaw: Flaw) {
            switch flaw {
            case .damaged: damaged += 1
            case .unreadable: unreadable += 1
            }
        }
    }

    /// Why content is not exported.
    private enum Flaw {
        case damaged
        /// The store cannot read it just now, and may another time.
        case unreadable
    }

    /// An entity whose content is being sent.
    private struct Sending {
        let name: String
        let modified: Int64
        let head: ContentDigest
        let content: LarderStores.StoredContent
        let hashing = ContentDigest.Hashing()
        var offset: Int64 = 0
        var flaw: Flaw?
    }

    private let proxy: Proxy
    private let diskTier: DiskTier
    private let match: EntityMatch
    private let pattern: String
    private let includesPrivate: Bool
    private var phase = Phase.beginning
    private var lines: ArraySlice<EntityListing> = []
    private var row: Int64?
    private var isAtEnd = false
    private var counts = Counts()
    /// The number of the last entity.
    private var number = 0
    private var sending: Sending?
    /// The next piece, as far as it has been made.
    private var octets: [UInt8] = []

    private static let page = 200
    private static let piece = LarderStores.StoredContent.blockLength

    init(proxy: Proxy, diskTier: DiskTier, match: EntityMatch, pattern: String, includesPrivate: Bool) {
        self.proxy = proxy
        self.diskTier = diskTier
        self.match = match
        self.pattern = pattern
        self.includesPrivate = includesPrivate
    }

    func next() async throws -> ContentChunk? {
        if case .beginning = phase {
            // The list contains committed rows only.
            await diskTier.store.flush()
            phase = .entities
            add("archive.json", beginning.pretty, modified: proxy.now.seconds)
        } else {
            while octets.count < EntityExport.piece, phase != .ended { try await goOn() }
        }
        guard !octets.isEmpty else { return nil }
        defer { octets.removeAll(keepingCapacity: true) }
        return ContentChunk(octets)
    }

    private func goOn() async throws {
        if sending != nil { return await goOnWithContent() }
        guard let line = try await nextLine() else {
            phase = .ended
            add("summary.json", summary.pretty, modified: proxy.now.seconds)
            octets += Tar.end
            return
        }
        switch await proxy.archived(line, includesPrivate: includesPrivate) {
        case .gone: break
        case .unreadable: counts.add(.unreadable)
        case .personal(let reason): counts.personal[reason, default: 0] += 1
        case .partial: counts.partial += 1
        case .entity(let entity, let reference): await begin(entity, reference)
        }
    }

    /// Throws if the list cannot be read: the missing entries are unknown, so the archive is incomplete.
    private func nextLine() async throws -> EntityListing? {
        if lines.isEmpty, !isAtEnd {
            let page = try await diskTier.store.list(after: row, limit: EntityExport.page, where: match)
            isAtEnd = page.count < EntityExport.page
            row = page.last?.row
            lines = page[...]
        }
        return lines.popFirst()
    }

    /// Adds the head of an entity; its content follows.
    private func begin(_ entity: ArchivedEntity, _ reference: ContentReference) async {
        let opened: LarderStores.StoredContent?
        do {
            opened = try await diskTier.store.openContent(reference)
        } catch {
            return counts.add(.unreadable)
        }
        guard let content = opened else { return counts.add(.damaged) }
        number += 1
        let digits = String(number)
        let name = "entities/" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let modified = entity.responseTime.seconds
        let head = entity.json.pretty
        add(name + ".json", head, modified: modified)
        octets += Tar.head(name + ".octets", size: entity.length, modified: modified)
        sending = Sending(name: name, modified: modified, head: ContentDigest(of: head), content: content)
    }

    private func goOnWithContent() async {
        guard let current = sending else { return }
        let left = current.content.length - current.offset
        guard left > 0 else {
            sending = nil
            octets += [UInt8](repeating: 0, count: Tar.padding(after: current.content.length))
            return end(current)
        }
        let count = min(left, Int64(EntityExport.piece))
        guard current.flaw == nil else { return leaveOut(count, current.flaw) }
        do {
            let chunk = try await current.content.read(at: current.offset, count: Int(count))
            guard let chunk else { return leaveOut(count, .damaged) }
            chunk.withBytes { bytes in
                current.hashing.update(bytes)
                octets += bytes
            }
            sending?.offset += Int64(chunk.count)
        } catch {
            leaveOut(count, .unreadable)
        }
    }

    /// Sends zeros for the rest of the announced content. Without digests, no import accepts it.
    private func leaveOut(_ count: Int64, _ flaw: Flaw?) {
        octets += [UInt8](repeating: 0, count: Int(count))
        sending?.offset += count
        sending?.flaw = flaw
    }

    private func end(_ sent: Sending) {
        if let flaw = sent.flaw { return counts.add(flaw) }
        let sums = ArchivedEntity.sums(sent.name, head: sent.head, content: sent.hashing.finish())
        add(sent.name + ".sha256", sums, modified: sent.modified)
        counts.entities += 1
        counts.bytes += sent.content.length
    }

    private func add(_ name: String, _ content: [UInt8], modified: Int64) {
        octets += Tar.file(name, content, modified: modified)
    }

    private var beginning: JSONValue {
        [
            "format": .integer(EntityExport.format), "larder": .string(LarderVersion.current),
            "exported": .time(proxy.now), "match": .string(pattern), "private": .bool(includesPrivate),
            "installation": .string(proxy.installation),
        ]
    }

    private var summary: JSONValue {
        var reasons = JSONObject()
        for reason in PersonalReason.allCases {
            if let count = counts.personal[reason] { reasons[reason.rawValue] = .integer(count) }
        }
        return [
            "entities": .integer(counts.entities), "bytes": .integer(counts.bytes),
            "leftOut": [
                "private": .integer(counts.personal.values.reduce(0, +)), "partial": .integer(counts.partial),
                "damaged": .integer(counts.damaged), "unreadable": .integer(counts.unreadable),
                "privateBecause": .object(reasons),
            ],
        ]
    }
}
