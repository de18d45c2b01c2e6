// SPDX-License-Identifier: Apache-2.0

/// The version of Larder.
package enum LarderVersion {
    /// As in the changelog (semantic versioning).
    package static let current = "0.1.0"
}
