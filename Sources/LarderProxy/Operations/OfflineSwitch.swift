// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// What an operator chose about going offline while the daemon runs. It comes before the configuration, survives a
/// reload, and ends with the process: who starts a daemon anew gets what its configuration says.
package final class OfflineSwitch: Sendable {
    package struct Choices: Sendable, Equatable {
        /// For everything that has no choice of its own; nil leaves it to the configuration.
        package var all: OfflineMode?
        package var services: [String: OfflineMode] = [:]

        package init(all: OfflineMode? = nil) { self.all = all }
    }

    private let state = Lock(Choices())
    private let isChosen = Atomic<Bool>(false)

    package init() {}

    package var choices: Choices { state.withLock { $0 } }

    /// Chooses for one service, or for all and forgets what was chosen for single ones; nil takes a choice back.
    package func choose(_ mode: OfflineMode?, service: String?) {
        state.withLock { choices in
            if let service {
                choices.services[service] = mode
            } else {
                choices = Choices(all: mode)
            }
            isChosen.store(choices != Choices(), ordering: .relaxed)
        }
    }

    /// The mode of a service for which the configuration says `configured`.
    package func mode(of service: String, configured: OfflineMode) -> OfflineMode {
        guard isChosen.load(ordering: .relaxed) else { return configured }
        return state.withLock { $0.services[service] ?? $0.all } ?? configured
    }
}
