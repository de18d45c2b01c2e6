// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Persists recordings between runs of the daemon. A protocol, because the format of the files is known to
/// `LarderAdmin`, which exports it too.
package protocol RecordingKeeping: Sendable {
    /// The names of the recordings.
    func names() throws -> [String]
    /// Nil if no recording has that name.
    func load(_ name: String) throws -> Recording?
    /// Replaces the recording of that name.
    func save(_ recording: Recording) throws
    /// False if no recording had that name.
    func remove(_ name: String) throws -> Bool
}

/// The recordings. All methods but `init` may read or write files.
package final class RecordingTable: Sendable {
    private let keeper: (any RecordingKeeping)?
    /// Recordings that are not saved in files: there are none, or they could not be written.
    private let held = Lock<[String: Recording]>([:])
    /// The most recordings in memory.
    private static let heldLimit = 16

    package init(keeper: (any RecordingKeeping)? = nil) { self.keeper = keeper }

    package struct Full: Error, CustomStringConvertible {
        package let description = "at most \(RecordingTable.heldLimit) recordings are held in memory"
    }

    /// A recording was not written to its file; it is in memory.
    package struct Unsaved: Error, CustomStringConvertible {
        package let name: String
        package let reason: any Error
        package var description: String { "the recording \(name) is in memory alone: \(reason)" }
    }

    package func names() throws -> [String] {
        let held = held.withLock { Array($0.keys) }
        return Set(held + (try keeper?.names() ?? [])).sorted()
    }

    package func recording(_ name: String) throws -> Recording? {
        try held.withLock { $0[name] } ?? keeper?.load(name)
    }

    /// Replaces the recording of that name.
    ///
    /// - Throws: `Unsaved` if it could not be written, `Full` if there is no room for it in memory either.
    package func save(_ recording: Recording) throws {
        do {
            guard let keeper else { return try hold(recording) }
            try keeper.save(recording)
            held.withLock { $0[recording.name] = nil }
        } catch let full as Full {
            throw full
        } catch {
            try hold(recording)
            throw Unsaved(name: recording.name, reason: error)
        }
    }

    /// Replaces the recording of that name, unless this one has no exchanges and that one has: it stays, and is returned.
    package func saveUnlessEmpty(_ recording: Recording) throws -> Recording? {
        if recording.count == 0, let former = try? self.recording(recording.name), former.count > 0 { return former }
        try save(recording)
        return nil
    }

    private func hold(_ recording: Recording) throws(Full) {
        let isHeld = held.withLock { held in
            guard held[recording.name] != nil || held.count < RecordingTable.heldLimit else { return false }
            held[recording.name] = recording
            return true
        }
        guard isHeld else { throw Full() }
    }

    package func remove(_ name: String) throws -> Bool {
        let wasHeld = held.withLock { $0.removeValue(forKey: name) != nil }
        return try keeper?.remove(name) == true || wasHeld
    }
}
