// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderStores

/// Imports an archive that `EntityExport` wrote. Each entity with valid digests is stored at once, and stays stored if
/// the rest of the archive is invalid. Names are compared, and are never used as file paths.
///
/// `@unchecked Sendable`: the exchange that receives the archive passes one piece after another, on its loop.
final class EntityImport: OwnIntake, @unchecked Sendable {
    /// An entity whose files are coming: its head, its content, its digests.
    private struct Entry {
        let name: String
        let entity: ArchivedEntity
        let head: ContentDigest
        /// Nil where it is kept as it is here, or refused already.
        let importing: ImportedEntity?
        /// The digest of its content, once that has come.
        var content: ContentDigest?
    }

    private enum Place {
        case between
        /// In a file that is collected in `text`.
        case text(name: String)
        case content
        case skipping
    }

    private let proxy: Proxy
    private let includesPrivate: Bool
    private let limits: ParseLimits
    /// The bytes of a head in JSON, where a byte of a field may take two, and of its URL.
    private let headLimit: Int64
    private var reader = TarReader()
    private var place = Place.between
    private var text: [UInt8] = []
    private var entry: Entry?
    /// `entities/N` of the last head, readable or not.
    private var name: String?
    private let hashing = ContentDigest.Hashing()
    /// Stored, and not yet found on disk.
    private var pending: [(entity: ArchivedEntity, receipt: ImportedEntity.Receipt)] = []
    private var hasOctets = false
    private var hasBegun = false
    private var isFromHere = false
    private var isComplete = false
    private var problem: String?
    /// How many entities came with digests.
    private var seen = 0
    private var imported = 0
    private var bytes: Int64 = 0
    private var kept = 0
    private var personal = 0
    private var refusals: [(url: String, why: String)] = []
    private var refused = 0

    private static let sumsLimit: Int64 = 1 << 10
    private static let refusalLimit = 100
    private static let pendingLimit = 256

    init(proxy: Proxy, includesPrivate: Bool) {
        self.proxy = proxy
        self.includesPrivate = includesPrivate
        limits = proxy.configuration.parseLimits
        headLimit = Int64(8 * limits.headerSection + 2 * limits.startLine)
    }

    func take(_ chunk: ContentChunk) async {
        guard problem == nil else { return }
        if !hasOctets, let coding = chunk.withBytes({ CompressedFile.name(of: $0) }) {
            problem = "it is compressed with \(coding), and has to be decompressed first"
            return
        }
        hasOctets = true
        chunk.withBytes { reader.feed($0) }
        do {
            while let event = try reader.next() { try await handle(event) }
        } catch {
            problem = "\(error)"
        }
    }

    /// The outcome, once everything that was imported is on disk.
    func report() async throws -> JSONValue {
        if !isComplete, problem == nil { problem = "it is cut off: its summary is missing" }
        dropEntry()
        await settle()
        guard hasBegun else { throw Problem.noArchive(problem ?? "it is empty") }
        var object: JSONObject = [
            "imported": .integer(imported), "bytes": .integer(bytes), "kept": .integer(kept),
            "private": .integer(personal), "refused": .integer(refused),
        ]
        if !refusals.isEmpty {
            object["refusals"] = .array(refusals.map { ["url": .string($0.url), "why": .string($0.why)] })
        }
        object["isComplete"] = .bool(problem == nil)
        if let problem { object["problem"] = .string(problem) }
        return .object(object)
    }

    // MARK: Files

    private func handle(_ event: TarReader.Event) async throws {
        switch event {
        case .file(let name, let size): try begin(name, size)
        case .octets(let octets):
            switch place {
            case .text: text += octets
            case .content:
                octets.withUnsafeBytes { hashing.update($0) }
                _ = await entry?.importing?.append(ContentChunk(octets))
            case .between, .skipping: break
            }
        case .endOfFile:
            let ended = place
            place = .between
            switch ended {
            case .text(let name): try await end(name)
            case .content: entry?.content = hashing.finish()
            case .between, .skipping: break
            }
        case .end:
            guard isComplete else { throw ArchivedEntity.Refusal(description: "its summary is missing") }
        }
    }

    private func begin(_ name: String, _ size: Int64) throws {
        guard hasBegun || name == "archive.json" else {
            throw ArchivedEntity.Refusal(description: "it does not begin with archive.json, as an export does")
        }
        text = []
        place = .skipping
        if name.hasSuffix(".json") {
            dropEntry()
            self.name = String(name.dropLast(5))
            guard size <= headLimit else { return refuse(name, "it is longer than any head") }
            place = .text(name: name)
        } else if let entry, name == entry.name + ".octets", entry.content == nil {
            // Another length shows in the digest, and is not worth writing.
            if size == entry.entity.length { place = .content }
        } else if let last = self.name, name == last + ".sha256", size <= EntityImport.sumsLimit {
            place = .text(name: name)
        }
    }

    private func end(_ name: String) async throws {
        switch name {
        case "archive.json": if !hasBegun { try beginArchive() }
        case "summary.json": try endArchive()
        case _ where name.hasSuffix(".sha256"): await endEntry()
        case _ where name.hasPrefix("entities/"): await beginEntry(String(name.dropLast(5)))
        default: break
        }
    }

    // MARK: The archive

    private func beginArchive() throws {
        let json = try? JSONValue(parsing: text)
        guard json?["format"]?.int == EntityExport.format else {
            throw ArchivedEntity.Refusal(
                description: "its format is \(json?["format"]?.description.prefix(20) ?? "none"), this Larder knows "
                    + "\(EntityExport.format)")
        }
        isFromHere = json?["installation"]?.string == proxy.installation
        hasBegun = true
    }

    private func endArchive() throws {
        guard let count = (try? JSONValue(parsing: text))?["entities"]?.int else {
            throw ArchivedEntity.Refusal(description: "its summary cannot be read")
        }
        guard count == seen else {
            throw ArchivedEntity.Refusal(description: "it has \(seen) whole responses, and its summary says \(count)")
        }
        isComplete = true
    }

    // MARK: Entities

    private func beginEntry(_ name: String) async {
        let entity: ArchivedEntity
        do {
            entity = try ArchivedEntity.parse(text, limits: limits)
        } catch {
            return refuse(name, "\(error)")
        }
        var importing: ImportedEntity?
        if entity.isPersonal, !includesPrivate {
            personal += 1
        } else {
            do {
                importing = try await proxy.beginImport(entity, isFromHere: isFromHere)
                if importing == nil { kept += 1 }
            } catch {
                refuse(entity.url, "\(error)")
            }
        }
        entry = Entry(name: name, entity: entity, head: ContentDigest(of: text), importing: importing)
    }

    private func endEntry() async {
        seen += 1
        guard let entry else { return }
        guard let importing = entry.importing else { return self.entry = nil }
        guard let content = entry.content,
            text == ArchivedEntity.sums(entry.name, head: entry.head, content: content)
        else { return dropEntry(because: "it is not as its digests say: it was damaged or altered") }
        self.entry = nil
        do {
            guard let receipt = try await importing.finish() else { return kept += 1 }
            pending.append((entry.entity, receipt))
        } catch {
            return refuse(entry.entity.url, "\(error)")
        }
        if pending.count == EntityImport.pendingLimit { await settle() }
    }

    /// Gives up what is coming.
    private func dropEntry(because reason: String = "the archive has its head without its content or its digests") {
        guard let dropped = entry else { return }
        entry = nil
        guard let importing = dropped.importing else { return }
        importing.abort()
        refuse(dropped.entity.url, reason)
    }

    /// Counts as imported what is on disk.
    private func settle() async {
        guard !pending.isEmpty else { return }
        await proxy.diskTier?.store.flush()
        for (entity, receipt) in pending {
            do {
                guard try await proxy.isStored(receipt) else {
                    refuse(entity.url, "the disk did not take it, or made room of it again")
                    continue
                }
                imported += 1
                bytes += entity.length
            } catch {
                refuse(entity.url, "\(error)")
            }
        }
        pending = []
    }

    private func refuse(_ url: String, _ why: String) {
        refused += 1
        if refusals.count < EntityImport.refusalLimit { refusals.append((String(url.prefix(2_000)), why)) }
    }
}

/// How compressed files begin.
private enum CompressedFile {
    private static let beginnings: [(name: String, octets: [UInt8])] = [
        ("gzip", [0x1F, 0x8B]), ("zstd", [0x28, 0xB5, 0x2F, 0xFD]), ("xz", [0xFD, 0x37, 0x7A, 0x58, 0x5A]),
        ("bzip2", [0x42, 0x5A, 0x68]),
    ]

    static func name(of octets: UnsafeRawBufferPointer) -> String? {
        beginnings.first { octets.starts(with: $0.octets) }?.name
    }
}

extension Problem {
    static func noArchive(_ detail: String) -> Problem {
        Problem(
            status: 422, title: "Not an export", proxyError: .httpRequestError,
            detail: "The content sent is no export of Larder: \(detail.prefix(500)).",
            advice: "Send the file that `larder export` wrote.")
    }
}
