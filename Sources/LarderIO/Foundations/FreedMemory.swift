// SPDX-License-Identifier: Apache-2.0
import CLibevent

/// What the allocator keeps for later.
package enum FreedMemory {
    /// Gives every whole page that holds nothing back to the system, whichever thread it was freed by.
    package static func release() { larder_release_memory() }
}
