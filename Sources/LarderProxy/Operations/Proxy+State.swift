// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
package import LarderRules
package import LarderUpstream

extension Proxy {
    /// The time since the start, by the monotonic clock.
    package var uptime: Duration { .nanoseconds(time.monotonic() - monotonicStart) }

    /// The plan for a plain request for the newest of `variants`, which has the same selecting fields.
    package func plan(
        for subject: ResourceSubject, in partition: Larder.Partition, by variants: [Variant], failure: LoadFailure?,
        now: Timestamp
    ) -> Plan {
        let configuration = subject.service.configuration(for: subject.uri, method: subject.method, in: partition)
        let fields = variants.first?.stored.variance.fields ?? Fields()
        let head = RequestHead(method: subject.method, target: subject.uri.pathAndQuery, fields: fields)
        return plan(for: head, of: subject, configuration, by: variants.map(\.stored), failure: failure, now: now)
    }

    /// The plan for a request, given what is stored, at the moment of a report: none is sent.
    func plan(
        for head: RequestHead, of subject: ResourceSubject, _ configuration: EffectiveConfiguration,
        by candidates: [StoredResponse], failure: LoadFailure?, now: Timestamp
    ) -> Plan {
        var head = head
        configuration.policy.ignoredRequest.remove(from: &head.fields)
        let outlook = StateOutlook(
            origin: outlook(on: subject, method: head.method, fields: head.fields, nil),
            failure: failure?.recent(for: head))
        if let passing = head.passing(isReadByContent: subject.content != nil, caches: configuration.caches) {
            return Plan.passing(passing, outlook: outlook)
        }
        return Plan.decide(head, candidates, policy: configuration.policy, now: now) { outlook }
    }
}

/// The state of an origin, and the last failure at the moment of a report.
private struct StateOutlook: OriginOutlook {
    let origin: LiveOutlook
    let failure: RecentFailure?
    var standing: OriginStanding { origin.standing }
    var isProbeDue: Bool { origin.isProbeDue }
    /// Holds are ignored: a Resource whose request is held back is not up to date.
    var hold: OriginHold? { nil }
}

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
        // The hypothetical client is on this machine.
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
