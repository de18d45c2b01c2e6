// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The configuration that a program gives to a service which a daemon serves: it is collected, so that the one in force
/// changes in one step.
struct Declaration: Sendable {
    private var collected: [ConfigurationEntry] = []
    /// Entries of other times, which stay when the program is asked for its configuration again.
    private var later: [ConfigurationEntry] = []
    private var thread: UInt?
    private var isDeclared = false

    fileprivate mutating func begin() {
        collected = []
        thread = Thread.current
        isDeclared = true
    }

    fileprivate mutating func end() { thread = nil }

    fileprivate mutating func forget() { collected = [] }

    fileprivate var entries: [ConfigurationEntry] { collected + later }

    fileprivate var isOnThread: Bool { thread == Thread.current }

    /// True if the entry is part of the configuration that is being collected.
    mutating func take(_ entry: ConfigurationEntry) -> Bool {
        if isOnThread {
            collected.append(entry)
            return true
        }
        if isDeclared { later.append(entry) }
        return false
    }
}

extension Service {
    /// Collects the entries that `declare` adds to this service, in place of the entries of the last collection.
    package func collect(from declare: (Service) -> Void) {
        declaration.withLock { $0.begin() }
        declare(self)
        declaration.withLock { $0.end() }
    }

    /// The entries of the last collection, and the entries that the program has added besides.
    package var declaredEntries: [ConfigurationEntry] { declaration.withLock { $0.entries } }

    /// Discards the collected entries: the service declares no configuration any more.
    package func forgetDeclaration() { declaration.withLock { $0.forget() } }

    /// Discards the configuration: the service is no longer part of the daemon's.
    package func forgetConfiguration() {
        forgetDeclaration()
        if !configurationSet.entries.isEmpty { replaceConfiguration(with: []) }
    }

    /// Has a daemon's table be the place of the service's resources.
    package func move(to home: ResourceHome) { self.home.withLock { $0 = home } }
}
