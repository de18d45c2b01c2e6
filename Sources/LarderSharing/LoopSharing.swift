// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderShared
import Logging

/// A loop's access to the shared tier, with its unfinished writes. Confined to that loop.
final class LoopSharing {
    let sharing: Sharing
    let tier: SharedTier
    private let loop: EventLoop
    /// Bytes that wait to be written, or are being written.
    private var waiting = 0
    private var jobs: [() async -> Void] = []
    private var writers = 0

    /// One look-up of a URL at a time.
    let reading = FirstCaller<SharedKey>()

    /// For how long after a response that was not stored others are not asked for its URL.
    private static let unsharedPeriod = Duration.seconds(120)
    private static let waitingLimit = 16 << 20
    private static let writerLimit = 8

    init(_ sharing: Sharing, on loop: EventLoop, _ connector: Connector, _ logger: Logger) {
        self.sharing = sharing
        self.loop = loop
        tier = SharedTier(sharing.state, on: loop, through: sharing.makeEngine(on: loop, connector)) { areUsed in
            if areUsed {
                logger.notice("other daemons' requests are waited for again")
            } else {
                logger.warning("other daemons' requests are not waited for: that was in vain for some time")
            }
        }
    }

    func close() { tier.close() }

    /// True if the last response was not stored, as the next one will not be either.
    func isUsuallyUnstored(_ memory: ResourceMemory, at now: Timestamp) -> Bool {
        guard let last = memory.unstored, !last.status.isError else { return false }
        return now - last.at < LoopSharing.unsharedPeriod
    }

    /// Runs `job`, which needs so many bytes of memory, in the background. False if too much waits already.
    func later(octets: Int, _ job: @escaping () async -> Void) -> Bool {
        guard waiting + octets <= LoopSharing.waitingLimit else { return false }
        waiting += octets
        jobs.append {
            await job()
            self.waiting -= octets
        }
        guard writers < LoopSharing.writerLimit else { return true }
        writers += 1
        loop.startHere {
            while !self.jobs.isEmpty { await self.jobs.removeFirst()() }
            self.writers -= 1
        }
        return true
    }
}
