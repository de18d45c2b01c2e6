// SPDX-License-Identifier: Apache-2.0

/// The authorities that the system trusts, read when the first connection needs them.
///
/// There are more than a hundred, and reading them takes a tenth of a second: three quarters of the time that a daemon
/// needs to start, and nothing that a loop can do between two requests.
final class SystemTrust: Sendable {
    private enum State {
        case unread
        case reading([UnsafeContinuation<Void, Never>])
        case read(isFound: Bool)
    }

    private let state = Lock(State.unread)
    private let read: @Sendable () -> Bool

    /// - Parameter read: reads the authorities once, on a separate thread. Returns false if there are none.
    init(_ read: @escaping @Sendable () -> Bool) { self.read = read }

    /// Starts to read, unless that has happened.
    func begin() {
        let isFirst = state.withLock { state in
            guard case .unread = state else { return false }
            state = .reading([])
            return true
        }
        guard isFirst else { return }
        // Without a thread the caller reads.
        if (try? Thread.start(name: "trust", { self.finish() }))?.detach() == nil { finish() }
    }

    /// True if there are authorities, once they have been read.
    func isFound() async -> Bool {
        begin()
        await withUnsafeContinuation { continuation in
            let isRead = state.withLock { state in
                guard case .reading(let waiters) = state else { return true }
                state = .reading(waiters + [continuation])
                return false
            }
            if isRead { continuation.resume() }
        }
        return state.withLock { if case .read(let isFound) = $0 { isFound } else { false } }
    }

    private func finish() {
        let isFound = read()
        let waiters: [UnsafeContinuation<Void, Never>] = state.withLock { state in
            defer { state = .read(isFound: isFound) }
            return if case .reading(let waiters) = state { waiters } else { [] }
        }
        waiters.forEach { $0.resume() }
    }
}
