// SPDX-License-Identifier: Apache-2.0

import Glibc
package import LarderIO

/// Where transformers run: threads that may be busy for long. A transformer may never return, and cannot be ended; so
/// once its time is over another thread takes the place of the one it has.
package struct TransformerThreads: Sendable {
    /// Has a job run; false when it was not taken and will not run.
    let submit: @Sendable (_ job: @escaping @Sendable () -> Void) -> Bool
    /// Nil where jobs end by themselves.
    private let pool: WorkerPool?

    /// For jobs that end by themselves.
    ///
    /// - Parameter submit: runs a job on a background thread; false when the queue is full.
    package init(submit: @escaping @Sendable (_ job: @escaping @Sendable () -> Void) -> Bool) {
        self.submit = submit
        pool = nil
    }

    /// The threads of a pool.
    package init(_ pool: WorkerPool) {
        submit = { pool.submit($0) }
        self.pool = pool
    }

    /// Those of the process, for programs: not those that tasks run on, of which there are few for everything.
    package static let own = TransformerThreads(
        WorkerPool(name: "larder-pipeline", threads: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))), queueLimit: 1 << 20))

    /// So many threads may be lost to transformers.
    private static let lostLimit = 64

    /// Gives up the thread of a job that is not waited for any more. False if nothing takes its place.
    func giveUp() -> Bool { pool?.substitute(limit: Self.lostLimit) ?? false }

    /// A job whose thread was given up has returned.
    func regain() { pool?.returned() }
}

/// So many responses wait to be transformed that no more are taken.
package struct TransformersBusy: Error, CustomStringConvertible {
    package init() {}
    package var description: String { "as many responses wait to be transformed as may wait" }
}
