// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A directory of a test's own, deleted with all that is in it when the test is done.
package final class FreshDirectory: Sendable {
    package let path: String

    package init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("larder-" + UUID().uuidString).path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Paths of all files below, relative, in order.
    package var files: [String] {
        (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).sorted()
    }
}
