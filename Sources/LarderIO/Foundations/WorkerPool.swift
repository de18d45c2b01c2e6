// SPDX-License-Identifier: Apache-2.0

/// A few threads for work that blocks or takes long, fed by one bounded queue in order of arrival.
///
/// Loops submit such work and continue; when the queue is full they are told at once. The threads end with the last
/// reference to the pool, once all queued jobs have run.
package final class WorkerPool: Sendable {
    private let name: String
    private let queueLimit: Int
    /// Its threads keep it, but not the pool.
    private let team: ThreadTeam<Never>

    /// Starts `threads` threads named `name-0`, `name-1` …; at most `queueLimit` jobs wait for one of them.
    ///
    /// If the system provides fewer threads, the pool works with those; with none it refuses all jobs.
    package init(name: String, threads: Int, queueLimit: Int) {
        // Holds: constants in the source and checked settings.
        precondition(threads > 0 && queueLimit > 0, "a pool needs a thread and room for a job")
        self.name = name
        self.queueLimit = queueLimit
        team = ThreadTeam(name: name, threads: threads, queueLimit: queueLimit, takesSignals: true)
    }

    deinit { team.abandon() }

    /// The number of jobs that wait for a thread.
    package var waitingCount: Int { team.waitingCount }

    /// Queues `job`. False if the queue is full or the pool was shut down: then it will not run.
    package func submit(_ job: @Sendable @escaping () -> Void) -> Bool { team.submit { _ in job() } }

    /// Starts another thread in place of one whose job may never return. False if there are `limit` such threads. If the
    /// job does return, `returned` must be called.
    package func substitute(limit: Int) -> Bool { team.substitute(limit: limit) }

    /// A job has returned for which there is a substitute.
    package func returned() { team.returned() }

    /// Runs `body` on one of the threads and resumes where the caller was.
    ///
    /// Throws the error of `body`, or an `IOError` with code `.overloaded` if the job was refused.
    package func run<T: Sendable>(_ body: @Sendable @escaping () throws -> T) async throws -> T {
        let result: Result<T, any Error> = await handedOver { finish in
            guard !submit({ finish(Result(catching: body)) }) else { return }
            finish(
                .failure(
                    IOError(
                        .overloaded, operation: "queue work for \(name)",
                        detail: "\(queueLimit) jobs are waiting already, or the pool was shut down")))
        }
        return try result.get()
    }

    /// Refuses new jobs, lets all queued ones run, and joins the threads. Not from one of the threads.
    package func shutdown() { team.dismiss() }
}
