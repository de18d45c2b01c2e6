// SPDX-License-Identifier: Apache-2.0

/// The threads that run tasks which are bound to no loop.
package enum DefaultExecutor {
    /// Returns once the first of these threads works.
    ///
    /// libdispatch opens descriptors for itself when the first thread begins. If none are left, it ends the process
    /// with a signal. So the first thread begins before clients can use up the descriptors.
    package static func begin() async { await Task.detached {}.value }
}
