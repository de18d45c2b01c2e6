// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The memory of this process as others get to see it.
package enum CoreDumps {
    /// Has the process leave no core dump, and be traced by nobody but root: it holds a key that others trust.
    package static func refuse() { _ = larder_refuse_core_dumps() }
}
