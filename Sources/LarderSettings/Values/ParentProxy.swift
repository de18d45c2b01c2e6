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

/// The proxies in the process's environment.
package struct EnvironmentProxies: Sendable, Equatable {
    /// For http origins.
    package var http: ParentAddress?
    /// For https origins.
    package var https: ParentAddress?
    package var bypass: [HostPattern] = []
    /// Whether `no_proxy` is `*`.
    package var bypassesAll = false

    package init() {}
}
