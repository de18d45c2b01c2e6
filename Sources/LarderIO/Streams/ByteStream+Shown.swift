// SPDX-License-Identifier: Apache-2.0

extension ByteStream {
    /// The state that other modules see, behind computed properties: the compiler then knows all uses of the stored
    /// properties, and omits run-time checks of them (docs/performance.md).
    struct Shown {
        var isWritable = true
        var isPeerClosed = false
        var onPeerClosed: (() -> Void)?
        var outlastsHalfClose = false
        var onInputWhileWaiting: (() -> Bool)?
    }

    /// The kernel has room for output as far as is known. True until a write is refused.
    package var isWritable: Bool { shown.isWritable }
    /// The peer has ended its side or the connection broke; there may still be bytes to read.
    package var isPeerClosed: Bool { shown.isPeerClosed }

    /// Called on the loop, once, when the peer closes or the connection breaks while no task is reading.
    ///
    /// Bytes that the peer sent before can still be read. A half-close by a peer that waits for an answer looks the
    /// same. Set it while a request is being answered and clear it after; it is not called for an end that was noticed
    /// before it was set, see `isPeerClosed`.
    package var onPeerClosed: (() -> Void)? {
        get { shown.onPeerClosed }
        set {
            shown.onPeerClosed = newValue
            guard newValue != nil else { return }
            // Without memory for the event, a close is not reported now, and the next wait fails.
            try? observe()
            reportMissedBreak()
        }
    }

    /// True if `onPeerClosed` ignores a half-close, and reports only a broken connection.
    package var outlastsHalfClose: Bool {
        get { shown.outlastsHalfClose }
        set { shown.outlastsHalfClose = newValue }
    }

    /// Called on the loop when bytes arrive while a task waits to read. True means that they have been consumed and
    /// the task keeps waiting; it saves the task's resumption where only an immediate answer follows.
    package var onInputWhileWaiting: (() -> Bool)? {
        get { shown.onInputWhileWaiting }
        set { shown.onInputWhileWaiting = newValue }
    }
}
