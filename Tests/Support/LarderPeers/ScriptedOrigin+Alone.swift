// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension ScriptedOrigin {
    /// Runs `body` with an origin that has no daemon before it.
    package static func run(_ body: (ScriptedOrigin) async throws -> Void) async throws {
        guard let loop = Peers.loop else { throw ScenarioFailure("the scenarios' loop did not start") }
        let origin = try await start(on: loop)
        do {
            try await body(origin)
        } catch {
            await origin.stop()
            throw error
        }
        await origin.stop()
    }
}
