// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

/// A response that came for a load, and what is to become of it: decided once, from its head.
final class Arrival {
    /// When the request was sent and when the head of the response was there (RFC 9111 §4.2.3).
    struct Times {
        var request: Timestamp
        var response: Timestamp
    }

    /// The head without what ended at this hop; always with a `Date`.
    let head: ResponseHead
    /// Octets of content, if they are known beforehand.
    let length: Int64?
    let times: Times
    /// How long what is kept may stay; nil when nothing is kept.
    let durability: StorabilityDecision.Durability?
    /// Whether it is a part that may be kept: one that came with all the fields a whole response has. Those are left
    /// out of what answers `If-Range` (RFC 9110 §15.3.7).
    let isPart: Bool
    private let load: Load
    /// How the conditions for keeping it came out, where it is not kept.
    private let findings: Storability.Findings

    /// Whether it may be kept where it was asked for, as far as that is not the response's to say.
    private let belongsHere: Bool

    convenience init(_ response: UpstreamResponse, _ times: Times, for load: Load, belongsHere: Bool) {
        var head = response.head
        HopByHop.strip(&head.fields, for: .forwardResponse)
        if !head.fields.contains(.date) { head.fields[.date] = load.context.dateText() }
        self.init(head, length: response.contentLength, times, for: load, belongsHere: belongsHere)
    }

    private init(
        _ head: ResponseHead, length: Int64?, _ times: Times, for load: Load, belongsHere: Bool
    ) {
        self.belongsHere = belongsHere
        self.head = head
        self.times = times
        self.load = load
        self.length = length
        let trial = Storability.Trial(
            request: load.clientHead, target: load.uri, response: head, policy: load.policy,
            responseTime: times.response)
        var durability: StorabilityDecision.Durability?
        if case .store(_, let lasting) = trial.decision, belongsHere, load.configuration.caches,
            load.context.mayKeep(length)
        {
            durability = lasting
        }
        findings = durability == nil ? trial.findings : .allPassed
        isPart = durability != nil && head.status == 206 && !load.clientHead.fields.contains(.ifRange)
        self.durability = head.status == 206 ? nil : durability
    }

    var isKept: Bool { durability != nil }

    /// The same response judged by another status.
    func counting(as status: Status) -> Arrival {
        if head.status == status || !head.status.isError { return self }
        return Arrival(
            ResponseHead(status: status, fields: head.fields), length: length, times, for: load,
            belongsHere: belongsHere)
    }

    /// The response as it is kept.
    func storedResponse() -> StoredResponse {
        StoredResponse(
            head, to: load.clientHead, requestTime: times.request, responseTime: times.response,
            contentLength: length, policy: load.policy)
    }

    /// Why it is not kept, for who asks later.
    var unstored: UnstoredResponse {
        UnstoredResponse(head, at: times.response, findings)
    }
}
