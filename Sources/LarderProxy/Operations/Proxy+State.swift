// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderRules

extension Proxy {
    /// Whether a plain request for the newest of `variants`, which has the same selecting fields, would be answered by a
    /// fresh response, or by the last failure.
    package func isUpToDate(
        _ subject: ResourceSubject, in partition: Larder.Partition, by variants: [Variant], failure: LoadFailure?,
        now: Timestamp
    ) -> Bool {
        let configuration = subject.service.configuration(for: subject.uri, method: subject.method, in: partition)
        let fields = variants.first?.stored.variance.fields ?? Fields()
        var head = RequestHead(method: subject.method, target: subject.uri.pathAndQuery, fields: fields)
        configuration.policy.ignoredRequest.remove(from: &head.fields)
        guard head.passing(isReadByContent: subject.content != nil, caches: configuration.caches) == nil else {
            return false
        }
        let outlook = StateOutlook(
            origin: outlook(on: subject, method: head.method, fields: head.fields, nil),
            failure: failure.map(RecentFailure.init))
        return Plan.decide(head, variants.map(\.stored), policy: configuration.policy, now: now) { outlook }.isUpToDate
    }
}

/// The state of an origin, and the last failure at the moment of a report.
private struct StateOutlook: OriginOutlook {
    let origin: LiveOutlook
    let failure: RecentFailure?
    var standing: OriginStanding { origin.standing }
    var isProbeDue: Bool { origin.isProbeDue }
    /// A Resource whose request is held back is not up to date, whatever holds it.
    var hold: OriginHold? { nil }
}
