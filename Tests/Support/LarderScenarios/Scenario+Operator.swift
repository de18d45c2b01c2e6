// SPDX-License-Identifier: Apache-2.0
package import Larder
package import LarderPeers
import LarderProxy

extension Scenario {
    /// A change by an operator.
    package func change(
        _ method: String, _ target: String, _ line: String = "", content: String = ""
    ) async throws -> WireMessage {
        let client = try await client("the operator")
        let lines = ["Host: localhost", "Authorization: Bearer token", "Content-Length: \(content.utf8.count)"]
        let head = ["\(method) \(target) HTTP/1.1"] + lines + (line.isEmpty ? [] : [line])
        try await client.write(head.map { $0 + "\r\n" }.joined() + "\r\n" + content)
        let answer = try await client.response()
        await client.close()
        return answer
    }

    package func override(
        _ path: String, _ content: String, _ line: String = "", query: String = ""
    ) async throws -> WireMessage {
        try await change("PUT", "/-/resource?url=\(url(path))\(query)", line, content: content)
    }

    /// The admin surface's answer.
    package func ask(_ target: String) async throws -> JSONValue {
        let client = try await client("the asker")
        try await client.send("GET \(target) HTTP/1.1", "Host: localhost")
        let answer = try await client.response()
        await client.close()
        return try JSONValue(parsing: Array(answer.text.utf8))
    }

    /// The report of one resource.
    package func state(_ path: String) async throws -> JSONValue { try await ask("/-/resources?url=\(url(path))") }

    package func wipe(_ path: String) async {
        guard let subject = try? proxy.subject(of: url(path)) else { return }
        _ = await proxy.wipe(subject, keepsStored: true)
    }
}
