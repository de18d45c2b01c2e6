// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
package import LarderSettings

/// The configured changes around a resource's requests.
///
/// `answer` applies to requests to Larder, before any lookup. The others apply to requests to the origin: responses
/// from the cache are unaffected.
package struct Decorators: Sendable, Equatable {
    /// The answer to every request, instead of any other.
    package var answer: HardWiredAnswer?
    /// How long a request to the origin is delayed, to simulate slowness.
    package var delay: Duration?
    package var retry: RetryRule?
    package var refresh: RefreshRule?

    package init() {}

    /// True if requests to the origin are affected.
    package var changesRequests: Bool { delay != nil || retry != nil || refresh != nil }

    /// Overrides these settings with the settings of `block`.
    package mutating func apply(_ block: DecoratorSettings) {
        switch block.deny {
        case .set(let rule): answer = .refusal(rule, reading: nil)
        case .unset: if case .refusal = answer { answer = nil }
        case nil: break
        }
        switch block.respond {
        case .set(let rule): answer = .response(rule)
        case .unset: if case .response = answer { answer = nil }
        case nil: break
        }
        if let delay = block.delay { self.delay = delay > .zero ? delay : nil }
        if let retry = block.retry { self.retry = retry.value }
        if let refresh = block.refresh { self.refresh = refresh.value }
    }
}

/// An answer that is decided before any lookup.
package enum HardWiredAnswer: Sendable, Equatable {
    /// By the rule; `reading` is the URL that it refuses, where that is another than the requested one.
    case refusal(DenyRule, reading: String?)
    case response(RespondRule)
}
