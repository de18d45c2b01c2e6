// SPDX-License-Identifier: Apache-2.0

package enum EntityWriterState: Hashable, Sendable {
    case open
    case finished
    case abandoned(AbandonReason)

    package enum AbandonReason: Hashable, Sendable {
        /// Its owner called `abort`.
        case aborted
        /// Longer than the store allows.
        case tooLarge
        /// Not of the length announced at the beginning.
        case wrongLength
        /// Too many bytes wait to be written.
        case queueFull
        /// The store is degraded or closed.
        case unavailable
        case diskFailed(String)
    }
}
