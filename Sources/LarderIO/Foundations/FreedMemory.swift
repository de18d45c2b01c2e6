// SPDX-License-Identifier: Apache-2.0
import CLibevent

/// Freed memory that the allocator keeps for later.
package enum FreedMemory {
    /// Has the threads that begin after this keep what they free until `release`. Without it the allocator returns what
    /// lies at the end of a heap at once and asks for it again, page by page: half of what a miss of 64 KiB costs.
    package static func keep() {
        // glibc's heaps are of 64 MiB, with some octets for itself.
        larder_keep_memory(60 << 20, 2 << 20)
    }

    /// Returns every unused whole page to the system, whichever thread freed it.
    package static func release() { larder_release_memory() }
}
