// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// Requests that passed to another, which may pass on in turn: what the last one comes to is the outcome of all.
///
/// They are not nested, so that a chain may have any number of links, and a link that nobody holds any more goes.
final class RequestRelay: Sendable {
    private struct Member: Sendable {
        weak var request: Request?
    }

    private struct Status {
        var runner: Request?
        var members: [Member] = []
        /// The number of members at which those that are gone are removed.
        var limit = 8
    }

    private let status = Lock(Status())
    /// Starts one runner after the other, so that one that completes at once has returned before the next begins.
    private let starts = TurnQueue()

    /// The request that all wait for; nil at the end.
    var runner: Request? { status.withLock { $0.runner } }

    func append(_ request: Request) {
        let existing = status.withLock { status -> [Request] in
            defer { status.members.append(Member(request: request)) }
            guard status.members.count >= status.limit else { return [] }
            let existing = status.members.compactMap(\.request)
            status.members = existing.map { Member(request: $0) }
            status.limit = max(8, 2 * existing.count)
            return existing
        }
        // These may be the last references: not to be released with the lock held.
        withExtendedLifetime(existing) {}
    }

    /// Waits for `runner` from now on.
    func wait(for runner: Request) {
        let former = status.withLock { status in
            defer { status.runner = runner }
            return status.runner
        }
        withExtendedLifetime(former) {}
    }

    func start(_ runner: Request) {
        let work = DecoratorsWork()
        starts.post { work.resume { _ = runner.start() } }
    }

    func end(_ info: ResponseInfo) {
        let former = status.withLock { status in
            defer { status = Status() }
            return status
        }
        for member in former.members { member.request?.complete(info) }
    }
}
