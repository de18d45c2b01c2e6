// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderUpstream

extension LoopContext {
    /// Records the remaining quota in a service's response.
    func noteQuota(in response: ResponseHead, to request: UpstreamRequest, of service: RoutedService) {
        guard service.base != nil else { return }
        proxy.quotas.note(
            response, to: request.head, insists: request.bypassesBackoff, of: service.name, now: now(),
            at: loop.time.monotonic())
    }
}

extension Proxy {
    /// The remaining quotas at the moment.
    package var quotaReport: [QuotaTable.Line] { quotas.all(at: time.monotonic()) }
}
