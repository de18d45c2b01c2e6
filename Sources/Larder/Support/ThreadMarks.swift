// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The work under way on each thread, so that it can be told that it asks for itself. Task-local values do not say that:
/// tasks that the work begins have them too.
final class ThreadMarks<Mark: Sendable>: Sendable {
    private let list = Lock<[(thread: UInt, mark: Mark)]>([])

    /// The marks of this thread, in the order they were made.
    var onThisThread: [Mark] {
        let thread = Thread.current
        return list.withLock { $0.filter { $0.thread == thread }.map(\.mark) }
    }

    func during<Result>(_ mark: Mark, _ body: () -> Result) -> Result {
        let thread = Thread.current
        list.withLock { $0.append((thread, mark)) }
        defer {
            list.withLock { list in
                if let index = list.lastIndex(where: { $0.thread == thread }) { list.remove(at: index) }
            }
        }
        return body()
    }
}
