// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The effect of a write on stored responses, as a function of the request, its response and the configuration (T-04).
struct WriteEffect: Equatable {
    /// The step after stored responses were invalidated.
    enum Sequel: Equatable {
        case nothing
        /// The target is loaded again.
        case reload
        /// The request's content becomes the target's content.
        case override
        /// The response's content becomes the target's content.
        case promote
    }

    /// All responses stored for these URLs are invalidated.
    var unusable: [TargetURI] = []
    /// And for these groups of the target's origin, as named by the origin (RFC 9875).
    var groups: [String] = []
    /// And for URLs that these patterns match.
    var patterns: [GlobPattern] = []
    var sequel = Sequel.nothing

    /// - Parameter isContentKept: whether all of the request's content was kept.
    static func decide(
        _ head: RequestHead, target: TargetURI, response: ResponseHead, configured: Configuration.AfterWrite,
        isContentKept: Bool
    ) -> WriteEffect {
        let decision = Invalidation.decide(
            method: head.method, target: target, status: response.status, response: response.fields)
        guard case .invalidate(let uris, let groups) = decision else { return WriteEffect() }
        var effect = WriteEffect(unusable: uris, groups: groups, patterns: configured.also)
        switch configured.action {
        case .invalidate, .wipe: break
        case .none: effect.unusable = []
        case .reload: effect.sequel = .reload
        case .override:
            // Only a PUT transfers the state itself, and only as a whole (RFC 9110 §9.3.4, §14.5).
            let isState = head.method == .put && response.status.isSuccess && !head.fields.contains(.contentRange)
            if isState, isContentKept { effect.sequel = .override }
        case .promote:
            if response.status == 200 || response.status == 201 { effect.sequel = .promote }
        }
        return effect
    }
}
