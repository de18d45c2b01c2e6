// SPDX-License-Identifier: Apache-2.0

/// What a store writes content to while it arrives, and slow readers read back from.
package protocol ContentSpool: ContentReader {}

package enum FlightError: Error {
    /// The reader was slower than the window and nothing on disk holds what it missed.
    case fellBehind
    /// All clients left before the response was complete.
    case abandoned
    /// The Resource was wiped or the load cancelled by an operator.
    case cancelled
}
