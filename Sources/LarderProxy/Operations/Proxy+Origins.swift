// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
package import LarderUpstream

/// The state of origins in backoff, for operators.
extension Proxy {
    package func originReports() -> [OriginReport] {
        origins.report(limits: configuration.upstreamSettings.breaker, now: time.monotonic())
    }

    /// The state of the origin of `subject`, for a hypothetical request with this method and these fields.
    package func outlook(
        on subject: ResourceSubject, method: LarderHTTP.Method, fields: Fields, _ memory: ResourceMemory?
    ) -> LiveOutlook {
        let configured = method == .head ? .get : method
        let head = RequestHead(method: method, target: subject.uri.pathAndQuery, fields: fields)
        var outlook = LiveOutlook(
            proxy: self, proxyConfiguration: configuration, service: subject.service,
            configuration: subject.service.configuration(for: subject.uri, method: configured), uri: subject.uri,
            form: subject.form, spelling: subject.spelling, head: head, network: .machine)
        // As for a client on this machine.
        outlook.client = ClientAddress(.loopback(port: 0)).hashValue
        outlook.isReadByContent = subject.content?.method == method && head.mayBeKeyedByContent
        outlook.snapshot = memory?.snapshot
        let traits = RequestTraits(of: head)
        let passing = head.passing(isReadByContent: outlook.isReadByContent, caches: outlook.configuration.caches)
        if passing == nil, traits.method != .head, traits.mayJoin(outlook.configuration) { outlook.memory = memory }
        outlook.takesProbe = false
        return outlook
    }
}
