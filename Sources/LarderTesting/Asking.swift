// SPDX-License-Identifier: Apache-2.0

package import Larder

/// The delegate of a request that ends with another one, which it asks for once it is started.
package final class Asking: RequestDelegate {
    private let ask: @Sendable () -> Request?

    package init(_ ask: @escaping @Sendable () -> Request?) { self.ask = ask }

    package func startUnderlyingOperation(_ completion: RequestCompletion) {
        _ = ask()?.onCompletion { completion.complete($0) }
    }
    package func cancelUnderlyingOperation() {}
    package func repeated() -> any RequestDelegate { self }
}
