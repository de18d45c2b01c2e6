// SPDX-License-Identifier: Apache-2.0
import CLibevent

/// Freed memory that the allocator keeps for later.
package enum FreedMemory {
    /// Returns every unused whole page to the system, whichever thread freed it.
    package static func release() { larder_release_memory() }
}
