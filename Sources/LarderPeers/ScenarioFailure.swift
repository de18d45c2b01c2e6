// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// Something that has nothing to do with what is tested went wrong.
package struct ScenarioFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Where scripted peers live.
package enum Peers {
    /// Clients and origins of all scenarios live here.
    package static let loop: EventLoop? = {
        let loop = try? EventLoop(name: "scenarios")
        try? loop?.start()
        return loop
    }()
}
