// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import Logging

extension Proxy {
    /// A log of the failures of caches: one line in ten seconds, however many fail.
    static func cacheLog(to logger: Logger, _ time: any TimeSource) -> ModelLog {
        let quietUntil = Lock<Int64>(.min)
        return ModelLog(categories: .cache) { _, message in
            let now = time.monotonic()
            let isTold = quietUntil.withLock { quietUntil in
                guard now >= quietUntil else { return false }
                quietUntil = now + ProblemLog.interval
                return true
            }
            guard isTold else { return }
            logger.warning(
                "a cache of the program's own is in trouble; clients get what they would get without it",
                metadata: ["problem": "\(message)"])
        }
    }
}
