// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderUpstream

/// What operators see of origins that are left alone.
extension Proxy {
    package func originReports() -> [OriginReport] {
        origins.report(limits: configuration.upstreamSettings.breaker, now: time.monotonic())
    }

    /// Why a GET of `subject` with these fields would not be sent at the moment; nil when it would.
    package func hold(on subject: ResourceSubject, fields: Fields) -> OriginHold? {
        var head = RequestHead(method: .get, target: subject.uri.pathAndQuery, fields: fields)
        subject.service.configuration(for: subject.uri, method: .get).apply(to: &head.fields)
        var request = UpstreamRequest(
            origin: Origin(subject.uri), head: head, parent: subject.service.parent(subject.uri))
        request.isDescribed = subject.service.base != nil
        return origins.hold(on: request, limits: configuration.upstreamSettings.breaker, now: time.monotonic())
    }
}
