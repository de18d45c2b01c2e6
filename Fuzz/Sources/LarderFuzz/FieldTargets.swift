// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
@testable import LarderRules

/// The rules read any field values without ending the process, and agree with themselves.
///
/// The input is lines of a response's header section, each of the fields below in turn.
func structuredFields(_ input: UnsafeRawBufferPointer) {
    let names: [FieldName] = [
        .cacheControl, "CDN-Cache-Control", .cacheGroups, .cacheGroupInvalidation, .vary, .contentRange, .age, .expires,
        .retryAfter, .link,
    ]
    let now = Timestamp(seconds: 1_790_000_000)
    var fields = Fields()
    for (index, line) in input.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
        guard !line.contains(where: { $0 == 0 || $0 == 0x0D }) else { return }
        fields.append(names[index % names.count], bytes: UnsafeRawBufferPointer(rebasing: line))
    }
    let targets: [FieldName] = ["CDN-Cache-Control"]
    require(
        CacheControl.Response(fields, targets: targets) == CacheControl.Response(fields, targets: targets),
        "reading is a function")
    _ = CacheControl.Request(fields)
    _ = RetryAfter.delay(fields, now: now)
    require(Invalidation.groups(of: fields).count <= Invalidation.groupLimit, "groups are bounded")
    if let range = ContentRange(fields) {
        var again = Fields()
        again.append(.contentRange, "\(range)")
        require(ContentRange(again) == range, "a range survives writing")
    }
    guard let target = try? TargetURI("http://a.example/b?c") else { return }
    if case .invalidate(let uris, _) = Invalidation.decide(
        method: .post, target: target, status: 200, response: fields)
    {
        require(uris.allSatisfy { $0.hasSameOrigin(as: target) }, "only the same origin is invalidated")
    }
    var request = RequestHead(method: .get, target: "/b?c")
    request.fields = fields
    _ = RangeSpecifier(fields)
    let variance = Variance(vary: fields, request: request.fields)
    require(variance.matchesNothing || variance.matches(request.fields), "a request matches its own variance")
    let response = ResponseHead(status: 200, fields: fields)
    var policy = CachePolicy()
    policy.targets = targets
    guard
        case .store = Storability.decide(
            request: request, target: target, response: response, policy: policy, responseTime: now)
    else { return }
    let stored = StoredResponse(
        response, to: request, requestTime: now, responseTime: now, contentLength: 10, policy: policy)
    _ = Reuse.decide(request: request, candidates: [stored], policy: policy, now: now + Duration.seconds(10))
    require(Age.currentAge(of: stored, at: now) >= .zero, "nothing is younger than its answer")
}
