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
    /// Bytes of content, if known beforehand.
    let length: Int64?
    let times: Times
    /// How long the response may be stored; nil when it is not.
    let durability: StorabilityDecision.Durability?
    /// True if it is a storable part: a 206 with all the fields of a whole response. Responses to `If-Range` lack some
    /// of them (RFC 9110 §15.3.7).
    let isPart: Bool
    private let load: Load
    /// The conditions of storability that failed, where it is not stored.
    private let findings: Storability.Findings

    /// Why it is not stored, though the response itself allows it.
    private let hindrance: UnstoredReason?
    /// The stored response that answers in its place.
    private let outlasting: StoredResponse?
    /// The URL that redirects have led to; nil for none.
    let place: String?
    /// True if the redirects on the way to it may be kept.
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
        let trial = Storability.Trial(
            request: load.clientHead, target: load.uri, response: head, policy: load.policy,
            responseTime: times.response, redirectsAreKept: redirectsAreKept)
        var durability: StorabilityDecision.Durability?
        if case .store(_, let lasting) = trial.decision { durability = lasting }
        outlasting = durability == nil ? nil : ReceivedResponse.outlasting(head, times.response, load)
        let hindrance =
            hindrance ?? (load.keepsStored && head.status.isError ? .unread : outlasting == nil ? nil : .outlasted)
        self.hindrance = hindrance
        if hindrance != nil || !load.configuration.caches || !load.context.mayKeep(length) { durability = nil }
        findings = durability == nil ? trial.findings : .allPassed
        isPart = durability != nil && head.status == 206 && !load.clientHead.fields.contains(.ifRange)
        self.durability = head.status == 206 ? nil : durability
    }

    /// The stored response that stays, as it answers in place of an error.
    private static func outlasting(_ head: ResponseHead, _ now: Timestamp, _ load: Load) -> StoredResponse? {
        guard head.status.isError else { return nil }
        let candidates = load.resource.memory.snapshot.candidates
        guard let index = Reuse.select(load.clientHead, candidates, policy: load.policy),
            StaleUse.outlasts(head, candidates[index], policy: load.policy, now: now)
        else { return nil }
        return candidates[index]
    }

    var isKept: Bool { durability != nil }

    /// How a load with this response ends, if it is not kept. Where a stored one answers in its place, the origin is not
    /// asked again for what would have been answered by both, as long as the error is fresh and the stored one answers.
    var end: LoadEnd {
        guard let outlasting, hindrance == .outlasted else { return .passed }
        let error = storedResponse()
        let stands = StaleUse.end(of: outlasting, after: .status(head.status), policy: load.policy)
        return .failed(
            LoadFailure(
                at: times.response, retryAt: min(times.response + error.facts.lifetime.duration, stands),
                error: OriginAnsweredError(status: head.status),
                variance: outlasting.variance.joined(with: error.variance)))
    }

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
