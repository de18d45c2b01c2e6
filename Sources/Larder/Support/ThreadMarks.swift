// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// The work under way on each thread, so that it can be told that it asks for itself. Task-local values do not say that:
/// tasks that the work begins have them too.
final class ThreadMarks<Mark: Sendable>: Sendable {
    /// Without a mark for what is no part of the work before it.
    private let list = Lock<[(thread: UInt, mark: Mark?)]>([])
    private let count = Atomic<Int>(0)

    /// The marks of this thread, in the order they were made.
    var onThisThread: [Mark] {
        guard count.load(ordering: .relaxed) > 0 else { return [] }
        let thread = Thread.current
        let marks = list.withLock { $0.filter { $0.thread == thread }.map(\.mark) }
        return marks[((marks.lastIndex { $0 == nil } ?? -1) + 1)...].compactMap(\.self)
    }

    func during<Result>(_ mark: Mark, _ body: () -> Result) -> Result { add([mark], body) }

    /// Calls `body` with the marks that another thread had when it put `body` off.
    func during<Result>(_ marks: [Mark], _ body: () -> Result) -> Result {
        marks.isEmpty ? body() : add(marks, body)
    }

    /// Calls what is no part of the work under way, though this thread does it meanwhile.
    func apart<Result>(_ body: () -> Result) -> Result {
        // Marks of this thread are seen by it.
        count.load(ordering: .relaxed) == 0 ? body() : add([nil], body)
    }

    private func add<Result>(_ marks: [Mark?], _ body: () -> Result) -> Result {
        let thread = Thread.current
        count.add(1, ordering: .relaxed)
        list.withLock { list in for mark in marks { list.append((thread, mark)) } }
        defer {
            let removed = list.withLock { list in
                marks.compactMap { _ in
                    list.lastIndex { $0.thread == thread }.map { list.remove(at: $0) }
                }
            }
            // These may be the last references: not to be released with the lock held.
            withExtendedLifetime(removed) {}
            count.subtract(1, ordering: .relaxed)
        }
        return body()
    }
}

/// A request that decorators are asked about, or that is being started.
struct DecoratedRequest: Sendable {
    /// The resource that it is a request of.
    let subject: any AnyObject & Sendable
    /// The request in words.
    let words: String
}

/// The decorated requests that this thread works on, from the outermost to the innermost. A chain that one of them made
/// goes on with the marks of then. Hooks and observers have none: they may load again.
let decorating = ThreadMarks<DecoratedRequest>()
