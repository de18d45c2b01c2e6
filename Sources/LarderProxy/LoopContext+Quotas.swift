// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

extension LoopContext {
    /// Records the remaining quota in a service's response.
    func noteQuota(in response: ResponseHead, to request: RequestHead, of service: RoutedService) {
        guard service.base != nil else { return }
        proxy.quotas.note(
            response, to: request.fields, of: service.name, now: now(), at: loop.time.monotonic())
    }
}

extension Proxy {
    /// The remaining quotas at the moment.
    package var quotaReport: [QuotaTable.Line] { quotas.all(at: time.monotonic()) }
}
