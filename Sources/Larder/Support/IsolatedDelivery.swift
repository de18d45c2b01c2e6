// SPDX-License-Identifier: Apache-2.0
import DequeModule
import LarderIO

/// The actors that this thread runs on while they change a resource: their observers are called before the change
/// returns.
let changingActors = ThreadMarks<any Actor>()

/// Delivers calls to actors: for one actor one after the other, in the order they were posted.
final class IsolatedDelivery: Sendable {
    private struct Job: Sendable {
        let body: @Sendable (isolated any Actor) -> Void
        /// True if a later job supersedes it.
        let isDroppable: Bool
    }

    private struct Line {
        let actor: any Actor
        var jobs: Deque<Job> = []
    }

    /// The jobs that wait for each actor; a line exists until its last job has ended.
    private let lines = Lock<[ObjectIdentifier: Line]>([:])

    /// The most jobs that may wait for a slow actor.
    private static let limit = 4_096

    /// Runs `body` on an actor: before this returns if that is changing a resource on this thread, else later.
    func post(
        to actor: any Actor, isDroppable: Bool = false, _ body: @escaping @Sendable (isolated any Actor) -> Void
    ) {
        let id = ObjectIdentifier(actor)
        let isFirst = lines.withLock { lines in
            let isFirst = lines[id] == nil
            var line = lines.removeValue(forKey: id) ?? Line(actor: actor)
            if line.jobs.count >= Self.limit {
                let late = line.jobs.prefix(Self.limit / 2)
                line.jobs.replaceSubrange(..<late.count, with: late.filter { !$0.isDroppable })
            }
            line.jobs.append(Job(body: body, isDroppable: isDroppable))
            lines[id] = line
            return isFirst
        }
        if changingActors.onThisThread.contains(where: { $0 === actor }) {
            // The line of another thread's task stays: it finds no job.
            while let job = next(id, endsLine: isFirst) { Self.runHere(job, on: actor) }
        } else if isFirst {
            Task { while await self.runNext(of: actor) {} }
        }
    }

    /// Returns once actors have run the jobs that wait for them now.
    func delivered() async {
        for actor in lines.withLock({ $0.values.map(\.actor) }) {
            await withCheckedContinuation { continuation in post(to: actor) { _ in continuation.resume() } }
        }
    }

    /// False when no job waits.
    private func runNext(of actor: isolated any Actor) -> Bool {
        guard let job = next(ObjectIdentifier(actor), endsLine: true) else { return false }
        job.body(actor)
        return true
    }

    private static func runHere<Here: Actor>(_ job: Job, on actor: Here) {
        // Holds: the change was begun on this actor, which cannot be left before it returns.
        actor.assumeIsolated { job.body($0) }
    }

    /// The next job for an actor; nil when none waits, which ends the line if `endsLine`.
    private func next(_ id: ObjectIdentifier, endsLine: Bool) -> Job? {
        lines.withLock { lines in
            if let job = lines[id]?.jobs.popFirst() { return job }
            if endsLine { lines[id] = nil }
            return nil
        }
    }
}
