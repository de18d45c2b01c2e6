// SPDX-License-Identifier: Apache-2.0

/// Whether the request for a new token is being made: its own refusal must not wait for itself, nor for another's that
/// waits for this one. So it is for the requests that it is chained to. Hooks and observers are told of it, and are no
/// part of it.
enum RefreshUnderWay {
    @TaskLocal static var isMade = false

    static func apart(_ body: () -> Void) {
        if isMade { $isMade.withValue(false, operation: body) } else { body() }
    }
}

/// The work of decorators that a request is a part of. A chain, and a load that goes on elsewhere, resume it.
package struct DecoratorsWork: Sendable {
    private let decorated: [DecoratedRequest]
    private let isOfRefresh: Bool

    /// The work of this thread.
    package init() {
        decorated = decorating.onThisThread
        isOfRefresh = RefreshUnderWay.isMade
    }

    /// Calls `body` as a part of the work.
    package func resume<Result>(_ body: () -> Result) -> Result {
        decorating.during(decorated) {
            isOfRefresh ? RefreshUnderWay.$isMade.withValue(true, operation: body) : body()
        }
    }
}
