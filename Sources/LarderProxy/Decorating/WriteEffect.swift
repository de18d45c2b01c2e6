// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// What a write does to what is stored, as a function of the request, its response and the configuration (T-04).
struct WriteEffect: Equatable {
    /// What follows once what is stored is gone.
    enum Sequel: Equatable {
        case nothing
        /// The target is loaded again.
        case reload
        /// What was sent becomes the target's content.
        case override
        /// What comes back becomes the target's content.
        case promote
    }

    /// Everything stored for these is unusable from now on.
    var unusable: [TargetURI] = []
    /// And for these groups of the target's origin, as the origin says itself (RFC 9875).
    var groups: [String] = []
    /// And for what these patterns match.
    var patterns: [GlobPattern] = []
    var sequel = Sequel.nothing

    /// - Parameter isContentKept: whether all of the request's content is at hand.
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
            // Only a PUT sends the state itself, and only as a whole (RFC 9110 §9.3.4, §14.5).
            let isState = head.method == .put && response.status.isSuccess && !head.fields.contains(.contentRange)
            if isState, isContentKept { effect.sequel = .override }
        case .promote:
            if response.status == 200 || response.status == 201 { effect.sequel = .promote }
        }
        return effect
    }
}
