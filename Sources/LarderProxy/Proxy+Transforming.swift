// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Logging

extension Proxy {
    /// Logs that the content of `uri` is relayed untransformed; its length is nil while it is unknown.
    func logTooLargeToTransform(_ uri: TargetURI, _ length: Int64?) {
        logger.notice(
            "too large to be transformed; passed on as it came",
            metadata: [
                "url": "\(uri.string)", "octets": "\(length.map(String.init) ?? "more than the limit")",
                "limit": "\(configuration.transformedContentLimit)",
            ])
    }
}
