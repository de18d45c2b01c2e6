// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A thread of the system that belongs to a store.
struct StoreThread: Sendable {
    private let id: pthread_t

    /// Starts a thread that runs `body` once; nil if the system gives none. Signals are left to other threads.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> StoreThread? {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var everySignal = sigset_t()
        var before = sigset_t()
        sigfillset(&everySignal)
        // A fault must still end the process where it happened.
        for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP] { sigdelset(&everySignal, signal) }
        pthread_sigmask(SIG_BLOCK, &everySignal, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var id = pthread_t()
        guard pthread_create(&id, nil, runThread, start.toOpaque()) == 0 else {
            start.release()
            return nil
        }
        return StoreThread(id: id)
    }

    func join() { pthread_join(id, nil) }

    /// For a thread that nobody joins.
    func detach() { pthread_detach(id) }

    fileprivate final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<StoreThread.Start>.fromOpaque(argument).takeRetainedValue()
    nameCurrentThread(start.name)
    start.body()
    return nil
}

/// Shows `name` (its first 15 octets) in `ps -L` and debuggers. Through /proc, as the C function for it is hidden
/// from Swift.
private func nameCurrentThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    let bytes = Array(name.utf8.prefix(15))
    _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
}
