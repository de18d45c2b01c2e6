// SPDX-License-Identifier: Apache-2.0

import LarderIO

extension Exchange {
    /// Which addresses this client may be connected to, judged on the very address that is then dialled.
    ///
    /// Clients on this machine may reach whatever the machine reaches, but for addresses that no origin has. For
    /// others Larder must not be a way into this machine or its network.
    var allowsAddress: (SocketAddress) -> Bool {
        let isLoopbackClient = connection.client.isLoopback
        return { address in
            if address.isUnspecified || address.isMulticast || address.isBroadcast || address.isLinkLocal || address.isMetadata {
                return false
            }
            return isLoopbackClient || !(address.isLoopback || address.isPrivate)
        }
    }
}
