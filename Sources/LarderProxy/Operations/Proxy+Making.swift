// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderIO
package import Logging

extension Proxy {
    package convenience init(
        configuration: ProxyConfiguration, diskTier: DiskTier?, pages: any OwnPages, logger: Logger,
        time: any TimeSource = SystemTime(), interception: Interception = Interception(),
        recordings: RecordingTable = RecordingTable(), registry: Registry? = nil, features: [any Feature] = []
    ) throws(IOError) {
        let recovery = RecoveryReload()
        try self.init(
            configuration: configuration, diskTier: diskTier, pages: pages, logger: logger, time: time,
            interception: interception, recordings: recordings, registry: registry, features: features,
            work: ProxyWork(
                makeClients: { ClientConnections($0) },
                lookAhead: { entry, context in await context.proxy.ahead.look(at: entry, on: context) },
                hearOfOrigin: { recovery.heard($0) }))
        recovery.attach(to: self)
    }
}
