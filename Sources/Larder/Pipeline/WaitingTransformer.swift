// SPDX-License-Identifier: Apache-2.0

/// When a transformation has to be over: nobody waits for its result any longer.
package struct TransformDeadline: Sendable {
    /// The time that all transformers of a response have together.
    package let limit: Duration
    package let instant: ContinuousClock.Instant

    /// The deadline of a transformation that begins now.
    package init(within limit: Duration) {
        self.limit = limit
        instant = .now + limit
    }
}

/// A transformer that waits for something else than the processor, a program for instance.
///
/// Responses that go through one are transformed on threads of its own: nobody waits for a program but
/// those whose responses it transforms. The program, or whatever it is, has to end at the deadline.
package protocol WaitingTransformer: ResponseTransformer {
    /// Nil where it does not wait after all: not every transformer of its kind does.
    var threads: TransformerThreads? { get }

    func process(_ response: Response, until deadline: TransformDeadline?) -> Response
}

extension WaitingTransformer {
    package func process(_ response: Response) -> Response { process(response, until: nil) }
}

extension ResponseTransformer {
    /// The threads that it needs; nil for those of all others.
    package var ownThreads: TransformerThreads? { (self as? any WaitingTransformer)?.threads }

    /// The transformed response; those that wait do so until the deadline.
    package func transform(_ response: Response, until deadline: TransformDeadline?) -> Response {
        (self as? any WaitingTransformer)?.process(response, until: deadline) ?? process(response)
    }
}
