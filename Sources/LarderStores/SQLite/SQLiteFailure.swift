// SPDX-License-Identifier: Apache-2.0
import CSQLite
import Glibc

/// An error of SQLite.
struct SQLiteFailure: Error, Sendable {
    /// The store's options after a failure.
    enum Kind: Sendable {
        /// The file is not a sound database.
        case corrupt
        /// The file lacks tables or columns that our statements use. They are right, so its schema is not.
        case schema
        /// The disk, a quota or a limit is full.
        case full
        /// Reading, writing or opening failed for a reason outside the database.
        case disk
        /// A constraint of the schema was violated, for example uniqueness.
        case constraint
        /// Anything else: busy, out of memory, misuse.
        case other
    }

    /// The extended result code.
    let code: Int32
    let message: String

    init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    /// For damage that SQLite itself would not detect.
    static func useless(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_NOTADB, message: message) }
    static func corrupt(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CORRUPT, message: message) }
    static func missing(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CANTOPEN, message: message) }

    /// Replaces an extended code for the failure of a file beside the database.
    private static let ofFile: Int32 = 0xff

    /// A failure to write content that rows refer to.
    init(_ failure: DiskFailure) {
        let isFull = failure.errno == ENOSPC || failure.errno == EDQUOT
        self.init(
            code: (isFull ? SQLITE_FULL : SQLITE_IOERR) | Self.ofFile << 8, message: failure.description)
    }

    /// `SQLITE_IOERR_SHMSIZE`, a macro that Swift does not see: the shared memory of the write-ahead log cannot grow, as
    /// the disk has no room for it.
    private static let noSharedMemory = SQLITE_IOERR | 19 << 8

    var kind: Kind {
        switch code & 0xff {
        case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
        case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH, SQLITE_FORMAT: .schema
        case SQLITE_FULL: .full
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .disk
        case SQLITE_CONSTRAINT: .constraint
        default: .other
        }
    }
}

extension SQLiteFailure {
    /// True if the file can only be set aside.
    var isDamage: Bool { kind == .corrupt || kind == .schema }
}

extension SQLiteFailure: CustomStringConvertible {
    var description: String {
        let isFull = kind == .full || code == SQLiteFailure.noSharedMemory
        let room = isFull ? "no room on the disk of the cache; " : ""
        return code >> 8 == Self.ofFile ? room + message : "\(room)SQLite: \(message) (\(code))"
    }
}
