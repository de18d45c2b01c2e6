// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

extension Exchange {
    /// Counts the tokens that a model would have read and written for the stored response.
    func countSavings(_ variant: Variant, _ retrieval: Retrieval) {
        guard retrieval.content != nil, case .memory(let chunks, let length) = variant.content,
            length <= Exchange.savingsLimit, variant.served.status.isSuccess
        else { return }
        let octets = chunks.count == 1 ? Array(chunks[0].bytes) : chunks.flatMap(\.bytes)
        guard let usage = octets.withUnsafeBytes({ ModelUsage(in: $0) }) else { return }
        context.proxy.savings.add(usage, of: retrieval.service.name)
    }

    /// Longer responses are not read for their cost.
    private static let savingsLimit = 4 << 20
}
