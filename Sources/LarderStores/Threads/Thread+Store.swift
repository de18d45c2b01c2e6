// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension Thread {
    /// Starts a thread of a store; nil if the system gives none. Signals are left to the program that has the store.
    static func startForStore(name: String, _ body: @escaping @Sendable () -> Void) -> Thread? {
        try? start(name: name, takesSignals: false, body)
    }
}
