// SPDX-License-Identifier: Apache-2.0
import LarderScenarios
import LarderTesting

extension Scenario {
    /// Clients that have all sent a GET for the same path, and read no answer yet.
    func crowd(of count: Int, askingFor path: String) async throws -> [Wire] {
        var clients: [Wire] = []
        for number in 0..<count {
            let client = try await client("client \(number)")
            try await client.get(url(path))
            clients.append(client)
        }
        return clients
    }
}
