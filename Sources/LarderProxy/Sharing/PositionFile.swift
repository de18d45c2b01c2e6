// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The file beside the store that says up to where the log of invalidations was obeyed: what is on disk is as old as
/// that, and has to be as good. Its methods block.
package struct PositionFile: Sendable {
    struct Place: Equatable {
        var position: String
        /// Shared responses that were stored before are not used, in nanoseconds since the epoch.
        var floor: Int64
    }

    static let name = "shared.position"
    private let path: String

    /// - Parameter directory: the store's.
    package init(directory: String) { path = "\(directory)/\(PositionFile.name)" }

    /// Nil when there is none that can be read.
    func read() -> Place? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 128)
        let count = Glibc.read(descriptor, &octets, octets.count)
        guard count > 0 else { return nil }
        return PositionFile.parse(String(decoding: octets.prefix(count), as: UTF8.self))
    }

    static func parse(_ text: String) -> Place? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == "1", words[1].utf8.count <= 41, words[2].hasSuffix("\n"),
            let floor = Int64(words[2].dropLast())
        else { return nil }
        return Place(position: String(words[1]), floor: floor)
    }

    static func text(_ place: Place) -> String { "1 \(place.position) \(place.floor)\n" }

    /// Replaces the file, or leaves the old one: then more than necessary is obeyed again.
    func write(_ place: Place) {
        let fresh = path + ".new"
        let descriptor = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let text = PositionFile.text(place)
        let isWritten = Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count
        close(descriptor)
        if isWritten { rename(fresh, path) } else { unlink(fresh) }
    }
}
