// SPDX-License-Identifier: Apache-2.0
import CSQLite

/// A connection to a database. Belongs to one thread at a time; the pointers of SQLite stay in this file.
final class Connection {
    private let handle: OpaquePointer
    /// The value of `loggedPages`; nil for readers.
    private let logged: UnsafeMutablePointer<Int32>?

    /// Opens the file at `path`, which must exist, and to which no symbolic link leads.
    init(path: String, isWriter: Bool) throws(SQLiteFailure) {
        var handle: OpaquePointer?
        // Each connection has one owner, so SQLite need not lock it.
        let access = isWriter ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        let code = sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nil)
        guard let handle else { throw SQLiteFailure(code: SQLITE_NOMEM, message: "out of memory") }
        sqlite3_extended_result_codes(handle, 1)
        guard code == SQLITE_OK else {
            let failure = SQLiteFailure(
                code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
            sqlite3_close_v2(handle)
            throw failure
        }
        self.handle = handle
        logged = isWriter ? .allocate(capacity: 1) : nil
        if let logged {
            // Memory kept by its statements between two uses takes most of a connection's own forty pieces.
            csqlite_make_room(handle, 1536, 256)
            logged.initialize(to: 0)
            csqlite_count_log(handle, logged)
        }
        csqlite_defend(handle)
        sqlite3_busy_timeout(handle, 2000)
    }

    // Statements that outlive their connection keep it open behind the scenes until they are gone.
    deinit {
        csqlite_count_log(handle, nil)
        sqlite3_close_v2(handle)
        logged?.deallocate()
    }

    /// The length of the log after the last commit of this connection; checkpoints are left to the caller.
    var loggedPages: Int64 { Int64(logged?.pointee ?? 0) }

    /// Leaves the log as it is when this connection is closed. A reader that outlived a renamed database would
    /// otherwise delete the log of its successor, which has the same name.
    func leaveLogOnClose() { csqlite_leave_log_on_close(handle) }

    func prepare(_ sql: String) throws(SQLiteFailure) -> Statement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure() }
        return Statement(statement)
    }

    /// Runs statements that return nothing of interest.
    func execute(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// The first column of the first row, as a number; 0 if there is none.
    func integer(_ sql: String) throws(SQLiteFailure) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : 0
    }

    func text(_ sql: String) throws(SQLiteFailure) -> String {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : ""
    }

    /// Gives up the memory for pages that nothing needs at the moment.
    func releaseMemory() { sqlite3_db_release_memory(handle) }

    /// How many rows the last insertion, update or deletion touched.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    /// True if nothing can be written, for any reason.
    var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") != 0 }

    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// How far a checkpoint writes the log back to the database.
    enum Checkpoint {
        /// Writes back as much as readers allow, without waiting.
        case passive
        /// Writes back all of it, and empties the file of the log.
        case truncate
    }

    /// Returns the pages left in the log. Readers in the way are waited for in `truncate` only, briefly.
    @discardableResult
    func checkpoint(_ mode: Checkpoint) throws(SQLiteFailure) -> Int {
        var logged: Int32 = 0
        var written: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(
            handle, nil, mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE, &logged, &written)
        guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else { throw failure() }
        return Int(max(logged - written, 0))
    }

    private func failure() -> SQLiteFailure {
        SQLiteFailure(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A compiled statement. Parameters count from 1, columns from 0.
struct Statement: ~Copyable {
    private let handle: OpaquePointer

    fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    /// Goes to the next row; false when there is none. Afterwards, or to leave early, `reset`.
    func step() throws(SQLiteFailure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let connection = sqlite3_db_handle(handle)
            throw SQLiteFailure(
                code: sqlite3_extended_errcode(connection), message: String(cString: sqlite3_errmsg(connection)))
        }
    }

    /// Makes the statement ready to run again. Parameters keep their values, except bytes bound in place.
    func reset() { sqlite3_reset(handle) }

    /// Runs to the end, and makes ready to run again.
    func run() throws(SQLiteFailure) {
        defer { reset() }
        while try step() {}
    }

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    /// Binds the same 64 bits; SQLite knows only signed numbers.
    func bind(_ index: Int32, hash: UInt64) { bind(index, Int64(bitPattern: hash)) }

    func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
        csqlite_bind_copy(handle, index, bytes.baseAddress, UInt64(bytes.count))
    }

    func bind(_ index: Int32, _ bytes: [UInt8]) { bytes.withUnsafeBytes { bind(index, $0) } }

    func bind(_ index: Int32, _ text: String) {
        var text = text
        _ = text.withUTF8 { csqlite_bind_text_copy(handle, index, $0.baseAddress, UInt64($0.count)) }
    }

    /// Binds bytes without copying them: they must stay until the statement has been reset.
    func bindInPlace(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
        csqlite_bind_in_place(handle, index, bytes.baseAddress, UInt64(bytes.count))
    }

    func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    func hash(_ column: Int32) -> UInt64 { UInt64(bitPattern: integer(column)) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

    /// Calls `body` with the bytes, which are gone with the next step.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // The pointer first: asking for it is what makes SQLite fetch the bytes.
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
