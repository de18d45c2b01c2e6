// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// A failure that has nothing to do with the tested behaviour.
package struct ScenarioFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The loop of scripted peers.
package enum Peers {
    /// The loop of the clients and origins of all scenarios.
    package static let loop: EventLoop? = {
        let loop = try? EventLoop(name: "scenarios")
        try? loop?.start()
        return loop
    }()

    /// Suspends the calling task for some real time. Thousands of `Task.sleep` a second have made libdispatch lose its
    /// timer, and with it every wait of the process.
    package static func sleep(for duration: Duration) async {
        guard let loop else { return await Task.yield() }
        await loop.sleep(for: duration)
    }
}
