// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import Logging

extension Proxy {
    /// A log of the failures of caches: one line in ten seconds, however many fail.
    static func cacheLog(to logger: Logger, _ time: any TimeSource) -> ModelLog {
        let lines = Lock(RepeatedLines<UInt16>())
        return ModelLog(categories: .cache) { category, message in
            let now = time.monotonic()
            guard let omitted = lines.withLock({ $0.omitted(category.rawValue, at: now) }) else { return }
            logger.warning(
                "a cache of the program's own is in trouble; clients get what they would get without it",
                metadata: ["problem": "\(message)", "omitted": "\(omitted)"])
        }
    }
}
