// SPDX-License-Identifier: Apache-2.0
import Larder

/// How long a program may work: its own time limit, or what is left of the transformation's if that is less.
struct ProgramLimit {
    let end: ContinuousClock.Instant
    private let whole: TransformDeadline?

    init(_ timeout: Duration, until deadline: TransformDeadline?) {
        let own = ContinuousClock.now + timeout
        whole = deadline.flatMap { $0.instant < own ? $0 : nil }
        end = whole?.instant ?? own
    }

    /// The time that is left, as it is now.
    var left: Duration { max(.zero, ContinuousClock.now.duration(to: end)) }

    /// The error of a program that has reached the end: its own, or the same as all transformers have.
    func error(_ own: any Error) -> any Error { whole.map { TransformerTimedOut(limit: $0.limit) } ?? own }
}
