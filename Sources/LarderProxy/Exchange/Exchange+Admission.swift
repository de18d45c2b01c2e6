// SPDX-License-Identifier: Apache-2.0

extension Exchange {
    /// Takes one of the places that a client of the network has for requests to origins, until the exchange ends. A request
    /// that is answered from the cache takes none.
    ///
    /// Without it one client that asks for what takes long would use up an origin's connections, and all that wait for
    /// one. This machine's programs count as one client, and are not limited.
    ///
    /// - Throws: a problem where all of them are taken.
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

    /// Gives the place back.
    func releaseOriginPlace() {
        guard hasOriginPlace, case .ordinary(let client) = connection.admission else { return }
        hasOriginPlace = false
        context.proxy.admission.originRequests.release(client)
    }
}
