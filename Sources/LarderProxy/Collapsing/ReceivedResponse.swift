// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

/// The response to a load, and its disposition: decided once, from its head.
final class ReceivedResponse {
    /// When the request was sent and when the head of the response was received (RFC 9111 §4.2.3).
    struct Times {
        var request: Timestamp
        var response: Timestamp
    }

    /// The head without hop-by-hop fields; always with a `Date`.
    let head: ResponseHead
    /// Octets of content, if known beforehand.
    let length: Int64?
    let times: Times
    /// How long the response may be stored; nil when it is not.
    let durability: StorabilityDecision.Durability?
    /// Whether it is a storable part: a 206 with all the fields of a whole response. Responses to `If-Range` lack some
    /// of them (RFC 9110 §15.3.7).
    let isPart: Bool
    private let load: Load
    /// The conditions of storability that failed, where it is not stored.
    private let findings: Storability.Findings

    /// Why it is not stored, though the response itself allows it.
    private let hindrance: UnstoredReason?
    /// The URL that redirects have led to; nil for none.
    let place: String?
    /// Whether the redirects on the way to it may be kept.
    private let redirectsAreKept: Bool

    convenience init(
        _ response: UpstreamResponse, _ times: Times, for load: Load, hindrance: UnstoredReason?, place: String?,
        redirectsAreKept: Bool
    ) {
        var head = response.head
        HopByHop.strip(&head.fields, for: .forwardResponse)
        if !head.fields.contains(.date) { head.fields[.date] = load.context.dateText() }
        self.init(
            head, length: response.contentLength, times, for: load, hindrance: hindrance,
            place: place, redirectsAreKept: redirectsAreKept)
    }

    private init(
        _ head: ResponseHead, length: Int64?, _ times: Times, for load: Load, hindrance: UnstoredReason?,
        place: String?,
        redirectsAreKept: Bool
    ) {
        self.place = place
        self.redirectsAreKept = redirectsAreKept
        self.head = head
        self.times = times
        self.load = load
        self.length = length
        let keepsStored = load.keepsStored && head.status.isError
        let hindrance = hindrance ?? (keepsStored ? .unread : nil)
        self.hindrance = hindrance
        let trial = Storability.Trial(
            request: load.clientHead, target: load.uri, response: head, policy: load.policy,
            responseTime: times.response, redirectsAreKept: redirectsAreKept)
        var durability: StorabilityDecision.Durability?
        if case .store(_, let lasting) = trial.decision, hindrance == nil, load.configuration.caches,
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
    func counting(as status: Status) -> ReceivedResponse {
        if head.status == status || !head.status.isError { return self }
        return ReceivedResponse(
            ResponseHead(status: status, fields: head.fields), length: length, times, for: load,
            hindrance: hindrance, place: place, redirectsAreKept: redirectsAreKept)
    }

    /// The response in its stored form.
    func storedResponse() -> StoredResponse {
        StoredResponse(
            head, to: load.clientHead, from: place, requestTime: times.request, responseTime: times.response,
            contentLength: length, policy: load.policy)
    }

    /// Why it is not stored, for later explanations.
    var unstored: UnstoredResponse {
        UnstoredResponse(
            head, at: times.response, findings, hindrance: hindrance)
    }
}
