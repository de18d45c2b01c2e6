// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// Delivers calls to actors: for one actor one after the other, in the order they were posted.
final class IsolatedDelivery: Sendable {
    private struct Job: Sendable {
        let actor: any Actor
        let body: @Sendable (isolated any Actor) -> Void
        /// Whether a later job supersedes it.
        let isDroppable: Bool
    }

    /// The jobs that wait for each actor; actors without waiting jobs are not included.
    private let waiting = Lock<[ObjectIdentifier: [Job]]>([:])

    /// The most jobs that may wait for a slow actor.
    private static let limit = 4_096

    /// Runs `body` on an actor, some time after this returns.
    func post(
        to actor: any Actor, isDroppable: Bool = false, _ body: @escaping @Sendable (isolated any Actor) -> Void
    ) {
        let id = ObjectIdentifier(actor)
        let job = Job(actor: actor, body: body, isDroppable: isDroppable)
        let isFirst = waiting.withLock { waiting in
            guard var jobs = waiting[id] else {
                waiting[id] = [job]
                return true
            }
            if jobs.count >= Self.limit {
                let late = jobs.prefix(Self.limit / 2)
                jobs.replaceSubrange(..<late.count, with: late.filter { !$0.isDroppable })
            }
            jobs.append(job)
            waiting[id] = jobs
            return false
        }
        guard isFirst else { return }
        Task {
            while let jobs = self.next(id) {
                for job in jobs { await Self.run(job, on: job.actor) }
            }
        }
    }

    private static func run(_ job: Job, on actor: isolated any Actor) { job.body(actor) }

    /// The jobs that wait for an actor; nil when there are none.
    private func next(_ id: ObjectIdentifier) -> [Job]? {
        waiting.withLock { waiting in
            let jobs = waiting[id] ?? []
            waiting[id] = jobs.isEmpty ? nil : []
            return jobs.isEmpty ? nil : jobs
        }
    }
}
