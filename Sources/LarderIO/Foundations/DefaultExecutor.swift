// SPDX-License-Identifier: Apache-2.0

/// The threads that run tasks which are bound to no loop.
package enum DefaultExecutor {
    /// Returns once the first of these threads works.
    ///
    /// libdispatch opens descriptors of its own when that thread begins, and ends the process with a signal when none are
    /// left. So it has to begin before clients can have taken them all.
    package static func begin() async { await Task.detached {}.value }
}
