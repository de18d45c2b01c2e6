// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderSettings
import Synchronization

/// An operator's choice to go offline while the daemon runs. It overrides the configuration, survives a reload, and
/// ends with the process: a restarted daemon has its configured mode.
package final class OfflineSwitch: Sendable {
    package struct Choices: Sendable, Equatable {
        /// For all services without a choice of their own; nil leaves it to the configuration.
        package var all: OfflineMode?
        package var services: [String: OfflineMode] = [:]

        package init(all: OfflineMode? = nil) { self.all = all }
    }

    private let state = Lock(Choices())
    private let isChosen = Atomic<Bool>(false)

    package init() {}

    package var choices: Choices { state.withLock { $0 } }

    /// Sets the choice for one service, or for all, which resets the choices of single services; nil removes a choice.
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

    /// The mode of a service whose configured mode is `configured`.
    package func mode(of service: String, configured: OfflineMode) -> OfflineMode {
        guard isChosen.load(ordering: .relaxed) else { return configured }
        return state.withLock { $0.services[service] ?? $0.all } ?? configured
    }
}
