// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import LarderHTTP
import LarderProxy
import LarderRules
@testable import LarderStores

/// A stored head is read as what was written, or not at all.
func storedHead(_ input: UnsafeRawBufferPointer) {
    let time = Timestamp(seconds: 1_790_000_000)
    let octets = Array(input)
    guard
        let stored = StoredResponseCoding.decode(
            octets, requestTime: time, responseTime: time, contentLength: 10, policy: CachePolicy())
    else { return }
    let written = StoredResponseCoding.encode(stored)
    guard
        let again = StoredResponseCoding.decode(
            written, requestTime: time, responseTime: time, contentLength: 10, policy: CachePolicy())
    else { return require(false, "what is written can be read") }
    require(StoredResponseCoding.encode(again) == written, "a head survives writing")
    require(again.variance == stored.variance, "variance survives writing")
}

/// A row gives what was sealed or nothing, whatever it holds.
///
/// The input fills the columns of one row, each with a type, a length and so many octets.
func storedRow(_ input: UnsafeRawBufferPointer) {
    guard let bench = RowBench.shared else { return require(false, "a database can be made") }
    var columns = ColumnReader(Array(input))
    bench.insert { columns.next() }
}

/// A database with room for one row of each table.
private final class RowBench {
    /// The driver is single-threaded.
    nonisolated(unsafe) static let shared = try? RowBench()

    private let writer: Connection
    private let reader: EntityReader
    private let key = EntityKey(service: "s", partition: "", stage: "rawData", url: "http://a.example/")
    private let entity, content, clear, clearContent: Statement

    init() throws {
        let path = "/dev/shm/larder-fuzz-\(getpid()).db"
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        close(open(path, O_CREAT | O_RDWR, 0o600))
        writer = try Connection(path: path, isWriter: true)
        guard case .ready = try Schema.prepare(writer) else { throw CancellationError() }
        try writer.execute("PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = 1;")
        reader = try EntityReader(path: path, generation: 1, key: nil, mappedBytes: 0)
        entity = try writer.prepare(
            "INSERT INTO entity VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, NULL)")
        content = try writer.prepare("INSERT INTO content VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
        clear = try writer.prepare("DELETE FROM entity")
        clearContent = try writer.prepare("DELETE FROM content")
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    }

    func insert(_ next: () -> Column) {
        do throws(SQLiteFailure) {
            entity.bind(1, hash: key.hash)
            for index in 2...11 { next().bind(to: entity, at: Int32(index)) }
            // Now and then the row is the one that is looked for.
            if case .integer(let number) = next(), number & 1 == 0 { entity.bind(9, key.bytes) }
            for index in 1...9 { next().bind(to: content, at: Int32(index)) }
            do throws(SQLiteFailure) { try entity.run() } catch { return }
            do throws(SQLiteFailure) { try content.run() } catch {}
            let found = try reader.read(key, limit: 4)
            for row in found.rows {
                if case .inline(let chunk) = row.record.content.location {
                    require(Int64(chunk.count) == row.record.content.length, "content has its length")
                    let digest = StoredDigest.sha256(ContentDigest(of: Array(chunk.bytes)))
                    require(row.record.content.digest == digest, "and its digest")
                }
            }
            let listed = try reader.list(after: 0, examine: 8, limit: 8, match: EntityMatch(), index: KeyIndex())
            require(listed.lines.count <= 1, "one row is listed once")
            _ = try reader.blocks(of: .sha256(ContentDigest(of: [])), length: 7)
            try clear.run()
            try clearContent.run()
        } catch {
            require(false, "the database works: \(error)")
        }
    }
}

private enum Column {
    case null
    case integer(Int64)
    case octets([UInt8])
    case text([UInt8])

    func bind(to statement: borrowing Statement, at index: Int32) {
        switch self {
        case .null: statement.bindNull(index)
        case .integer(let value): statement.bind(index, value)
        case .octets(let octets): statement.bind(index, octets)
        case .text(let octets): statement.bind(index, String(decoding: octets, as: UTF8.self))
        }
    }
}

private struct ColumnReader {
    private var octets: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { self.octets = octets[...] }

    mutating func next() -> Column {
        guard let kind = octets.popFirst() else { return .integer(0) }
        let count = Int(octets.popFirst() ?? 0)
        let value = Array(octets.prefix(kind % 4 == 1 ? min(count, 8) : count))
        octets = octets.dropFirst(value.count)
        switch kind % 4 {
        case 0: return .null
        case 1: return .integer(value.reduce(0) { $0 << 8 | Int64($1) })
        case 2: return .octets(value)
        default: return .text(value)
        }
    }
}
