// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Reads what a command is given, or fails in its words.
enum NamedFile {
    static func read(_ path: String, limit: Int) throws(CommandFailure) -> [UInt8] {
        do throws(BoundedFile.Failure) {
            return try BoundedFile.read(path, limit: limit)
        } catch {
            throw CommandFailure("cannot read \(path): \(error)")
        }
    }

    /// - Parameter name: of what standard input holds.
    static func input(_ name: String, limit: Int, advice: String? = nil) throws(CommandFailure) -> [UInt8] {
        do throws(BoundedFile.Failure) {
            return try BoundedFile.readInput(limit: limit)
        } catch {
            throw CommandFailure("cannot read \(name) from standard input: \(error)", advice: advice)
        }
    }
}
