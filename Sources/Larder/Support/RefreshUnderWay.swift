// SPDX-License-Identifier: Apache-2.0

/// Whether the request for a new token is being made: its own refusal must not wait for itself, nor for another's that
/// waits for this one. So it is for the requests that it is chained to. Hooks and observers are told of it, and are no
/// part of it.
enum RefreshUnderWay {
    @TaskLocal static var isMade = false

    /// A step of the request, when it is taken later.
    static func kept<Input, Output>(_ step: @escaping @Sendable (Input) -> Output) -> @Sendable (Input) -> Output {
        { input in $isMade.withValue(true) { step(input) } }
    }

    static func apart(_ body: () -> Void) {
        if isMade { $isMade.withValue(false, operation: body) } else { body() }
    }
}
