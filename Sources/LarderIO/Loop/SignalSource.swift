// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// A signal to the process that has a meaning for a daemon.
package enum ProcessSignal: Sendable, CaseIterable {
    /// Terminate gracefully (systemd, `kill`).
    case terminate
    /// Terminate, from the terminal.
    case interrupt
    /// Reload the settings.
    case hangUp
    /// Free for the daemon's use, such as reopening logs.
    case user1

    var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangUp: SIGHUP
        case .user1: SIGUSR1
        }
    }
}

/// Delivers signals as calls on a loop, instead of their default actions. Confined to that loop.
///
/// libevent serves the signals of a process on one loop only, so all sources belong on one loop. While a source is open
/// its signals interrupt nothing; once it is closed they have their default actions again.
package final class SignalSource {
    private let executor: LoopExecutor
    private let received: (ProcessSignal) -> Void
    private var entries: [Entry] = []
    private var callee: Callee<SignalSource>?

    package init(
        _ signals: [ProcessSignal] = ProcessSignal.allCases, on loop: isolated EventLoop,
        received: @escaping (ProcessSignal) -> Void
    ) throws(IOError) {
        executor = loop.executor
        self.received = received
        let callee = Callee(self)
        self.callee = callee
        for signal in signals {
            let entry = Entry(signal) { callee.target()?.received($0) }
            guard entry.watch(on: executor) else {
                close()
                throw IOError(errno: ENOMEM, operation: "watch for the signal \(signal.number)")
            }
            entries.append(entry)
        }
    }

    deinit {
        if executor.isOnThread { return close() }
        callee?.end()
        Leftovers(events: entries.compactMap { $0.giveUpEvent() }, others: entries).dispose(on: executor)
    }

    /// Restores the default actions.
    package func close() {
        for event in entries.compactMap({ $0.giveUpEvent() }) { event_free(event) }
        entries = []
    }

    /// One signal's event; libevent passes back its address.
    fileprivate final class Entry {
        private let signal: ProcessSignal
        private let action: (ProcessSignal) -> Void
        private var event: OpaquePointer?

        init(_ signal: ProcessSignal, action: @escaping (ProcessSignal) -> Void) {
            self.signal = signal
            self.action = action
        }

        func watch(on executor: LoopExecutor) -> Bool {
            let this = Unmanaged.passUnretained(self).toOpaque()
            event = event_new(executor.base, signal.number, Int16(EV_SIGNAL | EV_PERSIST), signalArrived, this)
            return event != nil && event_add(event, nil) == 0
        }

        func giveUpEvent() -> OpaquePointer? { event.take() }

        func arrived() { action(signal) }
    }
}

private func signalArrived(_: Int32, _: Int16, _ argument: UnsafeMutableRawPointer?) {
    guard let argument else { return }
    Unmanaged<SignalSource.Entry>.fromOpaque(argument).takeUnretainedValue().arrived()
}
