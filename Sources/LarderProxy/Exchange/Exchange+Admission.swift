// SPDX-License-Identifier: Apache-2.0

import LarderSettings

extension Exchange {
    /// Acquires one of the places that a network client has for requests to origins, until the exchange ends. Requests
    /// answered from the cache need none.
    ///
    /// Otherwise one client with slow requests would use up an origin's connections, and all places in the queue for
    /// them. The programs on this machine count as one client, and are not limited.
    ///
    /// - Throws: a problem where all of them are in use.
    func takeOriginPlace() throws(Problem) {
        guard !connection.client.isLoopback, case .ordinary(let client) = connection.admission, !client.isThisMachine,
            !hasOriginPlace
        else { return }
        guard
            context.proxy.admission.originRequests.take(
                client, limit: context.configuration.settings.limits.requestsOfClient)
        else {
            context.counters.add(.requestsRefusedByClient)
            throw .clientRequestLimit
        }
        hasOriginPlace = true
    }

    /// Releases the place.
    func releaseOriginPlace() {
        guard hasOriginPlace, case .ordinary(let client) = connection.admission else { return }
        hasOriginPlace = false
        context.proxy.admission.originRequests.release(client)
    }
}
