// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// A wait that ends when the client leaves: before a request is sent, or between two parts of a replay. Confined to its
/// loop.
final class Pause {
    private let loop: EventLoop
    private var timer: Timer?
    private var waiting: UnsafeContinuation<Void, Never>?
    private var isOver = false

    init(on loop: EventLoop) { self.loop = loop }

    /// False if the client has left.
    func wait(for duration: Duration) async -> Bool {
        guard !isOver else { return false }
        await withUnsafeContinuation { continuation in
            waiting = continuation
            timer = loop.timerHere(after: duration) { self.wake() }
        }
        return !isOver
    }

    /// The client has left.
    func end() {
        isOver = true
        timer?.cancel()
        wake()
    }

    private func wake() {
        timer = nil
        waiting.take()?.resume()
    }
}
