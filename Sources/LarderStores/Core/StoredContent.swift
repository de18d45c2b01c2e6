// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Larder
package import LarderHTTP
import LarderIO

/// Stored content, open for reading; each block is verified against its digest before any of it is returned.
package final class StoredContent: ContentReader {
    private enum Source {
        case chunk(ContentChunk)
        case file(descriptor: Int32, blocks: BlockDigests)
        case nothing
    }

    /// In bytes.
    package let length: Int64
    private let digest: StoredDigest
    private let source: Source
    private let core: StoreCore
    /// The block that was verified last, for readers that read less than a block at a time.
    private let last = Monitor<(block: Int, chunk: ContentChunk)?>(nil)

    /// Reads at multiples of this, of this many bytes, are not copied.
    package static let blockLength = BlockDigests.blockLength
    /// Content up to this length is verified as a whole when it is first opened.
    static let examinedLength = 1 << 20

    init(_ chunk: ContentChunk?, digest: StoredDigest, core: StoreCore) {
        length = Int64(chunk?.count ?? 0)
        self.digest = digest
        self.core = core
        source = chunk.map { .chunk($0) } ?? .nothing
    }

    /// Takes ownership of the descriptor of a file that has `length` bytes.
    init(descriptor: Int32, length: Int64, blocks: BlockDigests, digest: StoredDigest, core: StoreCore) {
        self.length = length
        self.digest = digest
        self.core = core
        source = .file(descriptor: descriptor, blocks: blocks)
    }

    deinit {
        if case .file(let descriptor, _) = source { close(descriptor) }
    }

    /// At least one and up to `count` bytes beginning at `offset`; nil at the end, or if they are lost, in which case
    /// the content must not be passed off as complete.
    package func read(at offset: Int64, count: Int) async throws(StoreUnavailable) -> ContentChunk? {
        guard offset >= 0, offset < length, count > 0 else { return nil }
        switch source {
        case .nothing: return nil
        case .chunk(let chunk): return slice(chunk, from: Int(offset), count: count)
        case .file(let descriptor, let blocks):
            let block = Int(offset / Int64(Self.blockLength))
            let start = Int(offset % Int64(Self.blockLength))
            if let chunk = last.withLock({ $0?.block == block ? $0?.chunk : nil }) {
                return slice(chunk, from: start, count: count)
            }
            let checked = await core.onReadingThread { [self] () -> Result<ContentChunk?, StoreUnavailable> in
                do throws(DiskFailure) {
                    return .success(try check(block, of: descriptor, blocks: blocks))
                } catch {
                    core.emit(.readFailed("\(error)"))
                    return .failure(StoreUnavailable())
                }
            }
            guard let checked else { throw StoreUnavailable() }
            guard let chunk = try checked.get() else { return nil }
            if start + count < chunk.count { last.withLock { $0 = (block, chunk) } }
            return slice(chunk, from: start, count: count)
        }
    }

    /// A block as it was stored; nil, with a report, if it is not there any more. A read that fails is no evidence of
    /// that.
    private func check(
        _ block: Int, of descriptor: Int32, blocks: BlockDigests
    ) throws(DiskFailure) -> ContentChunk? {
        let start = Int64(block) * Int64(Self.blockLength)
        let count = Int(min(Int64(Self.blockLength), length - start))
        let chunk = try readChunk(descriptor, at: start, count: count, path: "content \(digest.hexadecimal)")
        if let chunk, blocks.matches(chunk.bytes, block: block) { return chunk }
        core.emit(
            .damagedContent(
                digest: digest, reason: chunk == nil ? "the file is cut" : "the file was altered in block \(block)"))
        core.discard(digest)
        return nil
    }

    /// Reads all of it; false if any of it is damaged.
    fileprivate func isWhole() throws(DiskFailure) -> Bool {
        guard case .file(let descriptor, let blocks) = source else { return true }
        for block in 0...Int((length - 1) / Int64(Self.blockLength)) {
            guard try check(block, of: descriptor, blocks: blocks) != nil else { return false }
        }
        return true
    }
}

/// A part of a chunk; the chunk itself if all of it is needed.
func slice(_ chunk: ContentChunk, from start: Int, count: Int) -> ContentChunk {
    let end = min(chunk.count, start + min(count, chunk.count))
    if start == 0, end == chunk.count { return chunk }
    return chunk.withBytes { ContentChunk(copying: UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
}

func joined(_ chunks: [ContentChunk], length: Int) -> ContentChunk {
    ContentChunk(count: length) { bytes in
        var offset = 0
        for chunk in chunks {
            UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: chunk.bytes)
            offset += chunk.count
        }
    }
}

extension StoreCore {
    /// Opened content: nil if it no longer exists, or, with a report, if it differs from the database's
    /// record.
    typealias Opening = Result<StoredContent?, StoreUnavailable>

    /// Opens a content file on a reading thread.
    func open(
        _ digest: StoredDigest, length: Int64, with reader: EntityReader
    ) throws(SQLiteFailure) -> Opening {
        do {
            // Claimed content may not have its row yet.
            if let claim = files.claim(on: digest) {
                return .success(try open(digest, length: length, blocks: claim.blocks))
            }
            guard let blocks = try reader.blocks(of: digest, length: length) else { return .success(nil) }
            if let content = try open(digest, length: length, blocks: blocks) {
                // Short content is verified to its end once before any of it is returned: damage is then a miss. Long
                // content is verified as it is read, and ends where it is damaged.
                guard length > StoredContent.blockLength, length <= StoredContent.examinedLength,
                    !trust.isExamined(digest)
                else { return .success(content) }
                guard try content.isWhole() else { return .success(nil) }
                trust.noteExamined(digest)
                return .success(content)
            }
        } catch let failure as SQLiteFailure {
            throw failure
        } catch {
            // Too many open files or a failing disk, for example: no evidence of damage.
            emit(.readFailed("\(error)"))
            return .failure(StoreUnavailable())
        }
        // It may have been removed just now, first its row and then the file; that is no damage.
        guard try reader.blocks(of: digest, length: length) != nil else { return .success(nil) }
        emit(.damagedContent(digest: digest, reason: "the file is gone, or its length or its row is wrong"))
        discard(digest)
        return .success(nil)
    }

    /// Removes damaged content. It is unavailable from now on, although its row is removed later.
    func discard(_ digest: StoredDigest) {
        trust.discard(digest)
        if !queue.post(.discardContent(digest)) { trust.forget(digest) }
    }

    private func open(
        _ digest: StoredDigest, length: Int64, blocks: BlockDigests?
    ) throws(DiskFailure) -> StoredContent? {
        guard let blocks, let file = try files.open(digest) else { return nil }
        let content = StoredContent(
            descriptor: file.descriptor, length: length, blocks: blocks, digest: digest, core: self)
        return file.length == length ? content : nil
    }
}
