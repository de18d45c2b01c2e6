// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderUpstream

extension Settings {
    /// The proxy through which an origin is reached, or nil for none.
    ///
    /// The setting of `service` overrides `upstream.parent`; `noProxy` and loopback hosts are exempt from both, unless
    /// the service itself names a proxy.
    package func parentProxy(for service: ServiceSettings?, origin: TargetURI) -> ParentAddress? {
        if case .proxy(let address)? = service?.parent { return address }
        let address: ParentAddress? =
            switch service?.parent ?? upstream.parent {
            case .none: nil
            case .proxy(let named): named
            case .environment: upstream.environment.proxy(for: origin)
            }
        // Usually there is none, and the exemptions do not matter.
        guard let address else { return nil }
        let (host, port) = (origin.host, origin.port)
        let isExempt = upstream.noProxy.contains { $0.matches(host: host, port: port) }
        return isExempt || HostPattern.isLoopbackName(host) ? nil : address
    }
}
