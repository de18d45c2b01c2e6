// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Persists recordings between runs of the daemon. A protocol, because the format of the files is known to
/// `LarderAdmin`, which exports it too.
package protocol RecordingKeeping: Sendable {
    /// Their names.
    func names() throws -> [String]
    /// Nil when there is none of that name.
    func load(_ name: String) throws -> Recording?
    /// Replaces the recording of that name.
    func save(_ recording: Recording) throws
    /// False when there was none.
    func remove(_ name: String) throws -> Bool
}

/// The recordings. All methods but `init` may read or write files.
package final class RecordingTable: Sendable {
    private let keeper: (any RecordingKeeping)?
    /// Recordings that are not saved in files.
    private let held = Lock<[String: Recording]>([:])
    /// The most recordings in memory where there are no files.
    private static let heldLimit = 16

    package init(keeper: (any RecordingKeeping)? = nil) { self.keeper = keeper }

    package struct Full: Error, CustomStringConvertible {
        package let description =
            "without a `cache.path` at most \(RecordingTable.heldLimit) recordings are held; remove one"
    }

    package func names() throws -> [String] {
        (try keeper?.names() ?? held.withLock { Array($0.keys) }).sorted()
    }

    package func recording(_ name: String) throws -> Recording? {
        try keeper.map { try $0.load(name) } ?? held.withLock { $0[name] }
    }

    package func save(_ recording: Recording) throws {
        if let keeper { return try keeper.save(recording) }
        try held.withLock { held in
            guard held[recording.name] != nil || held.count < RecordingTable.heldLimit else { throw Full() }
            held[recording.name] = recording
        }
    }

    package func remove(_ name: String) throws -> Bool {
        try keeper.map { try $0.remove(name) } ?? held.withLock { $0.removeValue(forKey: name) != nil }
    }
}
