// SPDX-License-Identifier: Apache-2.0

package enum SharedLoadError: Error {
    /// The reader was slower than the window and the content it missed is not on disk.
    case fellBehind
    /// The Resource was wiped or the load cancelled by an operator.
    case cancelled
}
