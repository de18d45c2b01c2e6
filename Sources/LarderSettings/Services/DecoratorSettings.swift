// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

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
    /// How long all attempts together may take; nil for the time that an origin may be silent.
    package var within: Duration?
    package var on: [RetryCause] = [.unreachable, .status(502), .status(503), .status(504)]

    package init() {}
}

/// The failures after which a request is repeated.
package enum RetryCause: Sendable, Equatable, Hashable {
    /// No response: the connection failed, or ended before a response began.
    case unreachable
    case status(Status)
}
