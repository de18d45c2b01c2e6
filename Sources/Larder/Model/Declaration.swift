// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO

/// The configuration that a program gives to a service which a daemon serves: it is collected, so that the one in force
/// changes in one step.
struct Declaration: Sendable {
    private var collected: [ConfigurationEntry] = []
    /// Entries of other times, which stay when the program is asked for its configuration again.
    private var later: [ConfigurationEntry] = []
    private var thread: pthread_t?
    private var isDeclared = false

    fileprivate mutating func begin() {
        thread = pthread_self()
        isDeclared = true
    }

    fileprivate mutating func end() -> [ConfigurationEntry] {
        thread = nil
        defer { collected = [] }
        return collected + later
    }

    /// Whether the entry is part of the configuration that is being collected.
    mutating func take(_ entry: ConfigurationEntry) -> Bool {
        if let thread, pthread_equal(thread, pthread_self()) != 0 {
            collected.append(entry)
            return true
        }
        if isDeclared { later.append(entry) }
        return false
    }
}

extension Service {
    /// The entries that `declare` adds to this service, and those added since it was called the last time.
    package func entries(declaredBy declare: (Service) -> Void) -> [ConfigurationEntry] {
        declaration.withLock { $0.begin() }
        declare(self)
        return declaration.withLock { $0.end() }
    }

    /// Has a daemon's table be the place of the service's resources.
    package func move(to home: ResourceHome) { self.home.withLock { $0 = home } }
}
