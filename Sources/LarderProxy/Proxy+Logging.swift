// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import Logging

extension Proxy {
    /// A log of the failures of caches: at most one line in ten seconds.
    static func cacheLog(to logger: Logger, _ time: any TimeSource) -> ModelLog {
        let lines = Lock(RepeatedLines<UInt16>())
        return ModelLog(categories: .cache) { category, message in
            let now = time.monotonic()
            lines.withLock { $0.logger(logger, about: category.rawValue, at: now) }?.warning(
                "a cache of the program's own is in trouble; clients get what they would get without it",
                metadata: ["problem": "\(message)"])
        }
    }
}

extension Proxy {
    /// Logs that the content of `uri` is relayed untransformed; its length is nil while it is unknown.
    func logTooLargeToTransform(_ uri: TargetURI, _ length: Int64?) {
        logger.notice(
            "too large to be transformed; passed on as it came",
            metadata: [
                "url": "\(SecretText.logged(url: uri.string))",
                "octets": "\(length.map(String.init) ?? "more than the limit")",
                "limit": "\(configuration.transformedContentLimit)",
            ])
    }
}
