// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderCLI

@Suite("The type of an override")
struct GuessedTypeTests {
    @Test(arguments: [
        ("a.json", "nonsense", "application/json"), ("dir.json/a", "text", "text/plain;charset=utf-8"),
        ("A.HTML", "", "text/html;charset=utf-8"), ("json", "{}", "application/json"),
        ("", "[1, 2]", "application/json"),
        ("", "plain", "text/plain;charset=utf-8"), ("a.unknown", "a\0b", "application/octet-stream"),
        ("", "", "text/plain;charset=utf-8"),
    ]) func `it is told by the file's name, else by its look`(name: String, content: String, type: String) {
        #expect(GuessedType.of(Array(content.utf8), named: name).map { "\($0)".replacing("; ", with: ";") } == type)
    }

    @Test func `octets that are no text are no text`() {
        #expect(GuessedType.of([0xFF, 0xFE, 0x41], named: "")?.essence == "application/octet-stream")
    }

    @Test func `a type goes along with the content`() async throws {
        let peer = try ScriptedPeer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        _ = try AdminClient(socket: peer.path).send(
            .put, "/-/resource", content: [], type: MediaType("text/plain"))
        #expect(await peer.request()?.contains("\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n") == true)
    }
}
