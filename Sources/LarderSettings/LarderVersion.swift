// SPDX-License-Identifier: Apache-2.0

import CBuild

/// The version of Larder, and the build that is running.
package enum LarderVersion {
    /// The version in the changelog (semantic versioning).
    package static let current = "0.1.0"

    /// The commit that a release was built from; nil in a development build.
    package static let commit: String? = {
        let commit = String(cString: larder_build_commit())
        return commit.isEmpty ? nil : commit
    }()

    /// For `larder --version`: `0.1.0 (commit 1a2b3c4d5e6f, release build, x86-64)`.
    package static let description = {
        let build = commit.map { "commit \($0), release build" } ?? "development build"
        return "\(current) (\(build), \(processor))"
    }()

    #if arch(arm64)
        private static let processor = "arm64"
    #else
        private static let processor = "x86-64"
    #endif
}
