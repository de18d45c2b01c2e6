// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The memory of this process as others get to see it.
package enum CoreDumps {
    /// Disables core dumps, and tracing by users other than root: this process holds a key that others trust.
    package static func refuse() { _ = larder_refuse_core_dumps() }
}
