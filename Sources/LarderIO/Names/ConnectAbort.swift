// SPDX-License-Identifier: Apache-2.0

/// Ends an attempt to connect that has no caller left. Serves one attempt. Confined to its loop.
package final class ConnectAbort {
    /// Stored behind a computed property, for the reason given at `ByteStream.Shown`.
    private var hasAborted = false
    package var isAborted: Bool { hasAborted }
    private var end: (() -> Void)?

    package init() {}

    /// Ends what the attempt waits for; it fails soon after.
    package func abort() {
        hasAborted = true
        end.take()?()
    }

    /// Sets the action that ends what the attempt waits for next; called at once when it is aborted already.
    package func onAbort(_ action: @escaping () -> Void) {
        if isAborted { action() } else { end = action }
    }

    static func error(_ operation: String) -> IOError {
        IOError(.closed, operation: operation, detail: "nobody waits for it any more")
    }
}
