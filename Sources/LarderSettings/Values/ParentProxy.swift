// SPDX-License-Identifier: Apache-2.0

package import LarderUpstream

/// The proxy through which origins are reached.
package enum ParentProxy: Sendable, Equatable {
    /// According to `http_proxy`, `https_proxy` and `no_proxy`.
    case environment
    /// Directly.
    case none
    case proxy(ParentAddress)
}
