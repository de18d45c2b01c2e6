// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// What a resource's configuration does around its requests.
///
/// `answer` is about requests to Larder and comes before anything is looked up. The others are about requests to the
/// origin: who is answered from what is stored notices nothing of them.
package struct Decorators: Sendable, Equatable {
    /// Given to every request in place of anything else.
    package var answer: HardWiredAnswer?
    /// How long a request to the origin is held back, for tests of what is slow.
    package var delay: Duration?
    package var retry: RetryRule?
    package var refresh: RefreshRule?

    package init() {}

    /// Whether anything happens to requests to the origin.
    package var changesRequests: Bool { delay != nil || retry != nil || refresh != nil }

    /// Lays what `block` says over what is here.
    package mutating func apply(_ block: DecoratorSettings) {
        switch block.deny {
        case .set(let rule): answer = .refusal(rule)
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

/// What one block of a configuration says about decorators; nil says nothing.
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

/// A value, or word that what was said earlier holds no longer.
package enum Revocable<Value: Sendable>: Sendable {
    case unset
    case set(Value)

    package var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }
}

/// An answer that is decided before anything is looked up.
package enum HardWiredAnswer: Sendable, Equatable {
    case refusal(DenyRule)
    case response(RespondRule)
}

/// Requests that are refused without the origin being asked.
package struct DenyRule: Sendable, Equatable {
    package var status: Status = 403
    package var message = "The configuration denies this request."

    package init() {}
}

/// A response that was written down beforehand.
package struct RespondRule: Sendable, Equatable {
    package var status: Status = 200
    package var fields: [HeaderEdit] = []
    package var body = Secret("")

    package init() {}
}

/// When a request to the origin is made again, and how long after.
package struct RetryRule: Sendable, Equatable {
    /// How often a request is made, the first time included.
    package var attempts = 3
    /// The wait before the second time; each further one is twice as long.
    package var backoff = Duration.milliseconds(200)
    package var maxBackoff = Duration.seconds(10)
    package var on: [RetryCause] = [.unreachable, .status(502), .status(503), .status(504)]

    package init() {}
}

/// What a request is repeated for.
package enum RetryCause: Sendable, Equatable, Hashable {
    /// No response came: there was no connection, or it ended before a response began.
    case unreachable
    case status(Status)
}
