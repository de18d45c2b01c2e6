// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// A named thread of the system, joined by its creator.
package struct Thread: Sendable {
    let id: pthread_t

    /// Starts a thread that runs `body` once.
    ///
    /// Nothing here may be isolated to the main actor: a closure formed there traps on another thread.
    ///
    /// - Parameter takesSignals: whether signals to the process may arrive on it, and programs that it starts get them.
    package static func start(
        name: String, takesSignals: Bool = true, _ body: @escaping @Sendable () -> Void
    ) throws(IOError) -> Thread {
        var before = sigset_t()
        if !takesSignals {
            var all = sigset_t()
            sigfillset(&all)
            // A fault must still end the process where it happened.
            for signal in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP] { sigdelset(&all, signal) }
            pthread_sigmask(SIG_BLOCK, &all, &before)
        }
        defer { if !takesSignals { pthread_sigmask(SIG_SETMASK, &before, nil) } }
        let box = Unmanaged.passRetained(Start(name: name, body: body))
        var id = pthread_t()
        let status = pthread_create(&id, nil, threadMain, box.toOpaque())
        guard status == 0 else {
            box.release()
            throw IOError(errno: status, operation: "start thread \(name)")
        }
        return Thread(id: id)
    }

    package func join() { pthread_join(id, nil) }

    /// Detaches the thread, which is then not joined.
    package func detach() { pthread_detach(id) }

    /// True if it is the calling thread.
    var isCurrent: Bool { UInt(id) == Thread.current }

    /// The identity of the calling thread.
    package static var current: UInt { UInt(pthread_self()) }

    final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<Thread.Start>.fromOpaque(argument).takeRetainedValue()
    larder_name_thread(start.name)
    start.body()
    return nil
}
