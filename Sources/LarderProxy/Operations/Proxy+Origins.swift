// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
import LarderRules
package import LarderUpstream

/// What operators see of origins that are left alone.
extension Proxy {
    package func originReports() -> [OriginReport] {
        origins.report(limits: configuration.upstreamSettings.breaker, now: time.monotonic())
    }

    /// Why a request for `subject` with this method and these fields would not be sent at the moment; nil when it
    /// would.
    package func hold(on subject: ResourceSubject, method: LarderHTTP.Method, fields: Fields) -> OriginHold? {
        var head = RequestHead(method: method, target: subject.uri.pathAndQuery, fields: fields)
        subject.service.configuration(for: subject.uri, method: method).apply(to: &head.fields)
        var request = UpstreamRequest(
            origin: Origin(subject.uri), head: head, parent: subject.service.parent(subject.uri))
        request.isDescribed = subject.service.base != nil
        let isWrite = !method.isSafe && subject.content == nil
        request.bypassesBackoff = isWrite || CacheControl.Request(fields).bypassesBackoff
        return origins.hold(on: request, limits: configuration.upstreamSettings.breaker, now: time.monotonic())
    }
}
