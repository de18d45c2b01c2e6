// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

extension Exchange {
    /// For whom the request is, as RFC 7239 §4 writes it; nil when origins are not told.
    var forwardedElement: String? {
        guard context.configuration.settings.forwarded == .add else { return nil }
        let peer = stream.peerAddress
        let client = peer.isIPv6 ? "\"[\(peer.host)]\"" : peer.host
        let host = head.fields[first: .host].map { ";host=\"\($0)\"" } ?? ""
        return "for=\(client);proto=http\(host)"
    }

    /// Which addresses this client may be connected to, judged on the very address that is then dialled.
    ///
    /// Clients on this machine may reach whatever the machine reaches, but for addresses that no origin has. For
    /// others Larder must not be a way into this machine or its network.
    var allowsAddress: (SocketAddress) -> Bool {
        Exchange.allowedAddresses(isLoopbackClient: connection.client.isLoopback)
    }

    static func allowedAddresses(isLoopbackClient: Bool) -> (SocketAddress) -> Bool {
        { address in
            if address.isUnspecified || address.isMulticast || address.isBroadcast || address.isLinkLocal
                || address.isMetadata
            {
                return false
            }
            return isLoopbackClient || !(address.isLoopback || address.isPrivate)
        }
    }
}
