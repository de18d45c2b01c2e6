// SPDX-License-Identifier: Apache-2.0

/// Where transformers run: threads that may be busy for long.
package struct TransformerThreads: Sendable {
    /// Has a job run; false when it was not taken and will not run.
    let submit: @Sendable (_ job: @escaping @Sendable () -> Void) -> Bool

    /// - Parameter submit: runs a job on a background thread; false when the queue is full.
    package init(submit: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Bool) { self.submit = submit }

    /// The threads that tasks run on.
    static let tasks = TransformerThreads { job in
        Task { job() }
        return true
    }
}

/// So many responses wait to be transformed that no more are taken.
package struct TransformersBusy: Error, CustomStringConvertible {
    package init() {}
    package var description: String { "as many responses wait to be transformed as may wait" }
}
