// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A few threads for work that blocks or takes long, fed by one bounded queue in order of arrival.
///
/// Loops submit such work and continue; when the queue is full they are told at once. The threads end with the last
/// reference to the pool, once all queued jobs have run.
package final class WorkerPool: Sendable {
    private let name: String
    private let queueLimit: Int
    private let jobs = JobQueue()

    /// Starts `threads` threads named `name-0`, `name-1` …; at most `queueLimit` jobs wait for one of them.
    ///
    /// If the system provides fewer threads, the pool works with those; with none it refuses all jobs.
    package init(name: String, threads: Int, queueLimit: Int) {
        // Holds: constants in the source and checked settings.
        precondition(threads > 0 && queueLimit > 0, "a pool needs a thread and room for a job")
        self.name = name
        self.queueLimit = queueLimit
        jobs.start(threads, named: name)
    }

    deinit {
        for thread in jobs.close() { thread.detach() }
    }

    /// The number of jobs that wait for a thread.
    package var waitingCount: Int { jobs.count }

    /// Queues `job`. False if the queue is full or the pool was shut down: then it will not run.
    package func submit(_ job: @Sendable @escaping () -> Void) -> Bool { jobs.append(job, limit: queueLimit) }

    /// Runs `body` on one of the threads and resumes where the caller was.
    ///
    /// Throws the error of `body`, or an `IOError` with code `.overloaded` if the job was refused.
    package func run<T: Sendable>(_ body: @Sendable @escaping () throws -> T) async throws -> T {
        // Handed over under a lock: the thread sanitizer does not see that resuming a task orders the accesses of both.
        let handover = Lock<Result<T, any Error>?>(nil)
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isTaken = submit {
                let result = Result(catching: body)
                handover.withLock { $0 = result }
                continuation.resume()
            }
            if !isTaken { continuation.resume() }
        }
        guard let result = handover.withLock({ $0 }) else {
            throw IOError(
                .overloaded, operation: "queue work for \(name)",
                detail: "\(queueLimit) jobs are waiting already, or the pool was shut down")
        }
        return try result.get()
    }

    /// Refuses new jobs, lets all queued ones run, and joins the threads. Not from one of the threads.
    package func shutdown() {
        for thread in jobs.close() { thread.join() }
    }
}

/// The jobs of a pool, and its threads, which keep this queue but not the pool.
// @unchecked: all mutable state is in `queue`, reached only with `mutex` held.
private final class JobQueue: @unchecked Sendable {
    private struct Queue {
        var waiting: [@Sendable () -> Void] = []
        /// Index of the first job in `waiting` not yet taken.
        var head = 0
        var isClosed = false
        var threads: [Thread] = []

        var count: Int { waiting.count - head }

        mutating func take() -> (@Sendable () -> Void)? {
            guard head < waiting.count else { return nil }
            let job = waiting[head]
            waiting[head] = {}
            head += 1
            if head == waiting.count || head >= 1024 {
                waiting.removeFirst(head)
                head = 0
            }
            return job
        }
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var queue = Queue()

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func start(_ count: Int, named name: String) {
        locked { queue in
            for number in 0..<count {
                guard let thread = try? Thread.start(name: "\(name)-\(number)", { self.work() }) else { break }
                queue.threads.append(thread)
            }
            queue.isClosed = queue.threads.isEmpty
        }
    }

    var count: Int { locked { $0.count } }

    func append(_ job: @Sendable @escaping () -> Void, limit: Int) -> Bool {
        locked { queue in
            guard !queue.isClosed, queue.count < limit else { return false }
            queue.waiting.append(job)
            pthread_cond_signal(condition)
            return true
        }
    }

    /// Refuses new jobs. Returns the threads once, to be joined or detached.
    func close() -> [Thread] {
        locked { queue in
            queue.isClosed = true
            pthread_cond_broadcast(condition)
            defer { queue.threads = [] }
            return queue.threads
        }
    }

    private func work() {
        while let job = next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        // Each use of `queue` is an access of its own: one that spanned the wait would promise the compiler that no
        // other thread changes it meanwhile.
        while true {
            if let job = queue.take() { return job }
            if queue.isClosed { return nil }
            pthread_cond_wait(condition, mutex)
        }
    }

    private func locked<Result>(_ body: (inout Queue) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&queue)
    }
}
