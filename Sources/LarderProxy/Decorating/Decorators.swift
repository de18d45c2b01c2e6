// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

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

    /// Whether requests to the origin are affected.
    package var changesRequests: Bool { delay != nil || retry != nil || refresh != nil }

    /// Overrides these settings with those of `block`.
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

/// The decorators of one configuration block; nil leaves a setting as it is.
package struct DecoratorSettings: Sendable {
    package var deny: Revocable<DenyRule>?
    package var respond: Revocable<RespondRule>?
    package var delay: Duration?
    package var retry: Revocable<RetryRule>?
    package var refresh: Revocable<RefreshRule>?

    package init() {}

    package var isEmpty: Bool {
        deny == nil && respond == nil && delay == nil && retry == nil && refresh == nil
    }
}

/// A value, or the withdrawal of an earlier one.
package enum Revocable<Value: Sendable>: Sendable {
    case unset
    case set(Value)

    package var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }
}

/// An answer that is decided before any lookup.
package enum HardWiredAnswer: Sendable, Equatable {
    /// By the rule; `reading` is the URL that it refuses, where that is another than the requested one.
    case refusal(DenyRule, reading: String?)
    case response(RespondRule)
}

/// Requests that are refused without asking the origin.
package struct DenyRule: Sendable, Equatable {
    package var status: Status = 403
    package var message = "The configuration denies this request."

    package init() {}
}

/// A response written in the configuration.
package struct RespondRule: Sendable, Equatable {
    package var status: Status = 200
    package var fields: [HeaderEdit] = []
    package var body = Secret("")

    package init() {}
}

/// When a request to the origin is repeated, and how long after.
package struct RetryRule: Sendable, Equatable {
    /// How many times a request is sent, the first included.
    package var attempts = 3
    /// The wait before the second attempt; each further one is twice as long.
    package var backoff = Duration.milliseconds(200)
    package var maxBackoff = Duration.seconds(10)
    package var on: [RetryCause] = [.unreachable, .status(502), .status(503), .status(504)]

    package init() {}
}

/// The failures after which a request is repeated.
package enum RetryCause: Sendable, Equatable, Hashable {
    /// No response: the connection failed, or ended before a response began.
    case unreachable
    case status(Status)
}
