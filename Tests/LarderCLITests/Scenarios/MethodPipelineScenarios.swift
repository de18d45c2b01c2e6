// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

@testable import LarderCLI

/// Pipelines for responses to other methods than GET.
@Suite("Scenarios: pipelines by method")
struct MethodPipelineScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let content = #"{"item":[1],"items":[2]}"#

    /// A list for GET, one item for what makes or changes one; other methods are not named.
    static let yaml = WrittenScenarios.service(
        """
        - pipeline: { parsing: json }
        - { methods: [GET], pipeline: { model: [ { jsonPointer: /items } ] } }
        - { methods: [POST, PUT], pipeline: { model: [ { jsonPointer: /item } ] } }
        """)

    static func reply(_ content: String = content, status: Int = 200, _ lines: String...) -> String {
        OriginRequest.response(
            status, [fresh, "Content-Type: application/json", "ETag: \"origin\""] + lines, content: content)
    }

    func ask(_ scene: Scenario, _ method: String, _ path: String = "/v1/a") async throws -> WireMessage {
        let client = try await scene.client()
        try await client.send(
            "\(method) \(scene.url(path)) HTTP/1.1", "Host: x", "Content-Length: 2", content: "{}")
        defer { Task { await client.close() } }
        return try await client.response(to: method)
    }

    @Test func `PL-10 each method has the pipeline of the blocks that name it, and the others have none`() async throws
    {
        try await WrittenScenarios.run(Self.yaml) { (scene) async throws in
            scene.origin.answer { head in
                head.method == "POST" ? Self.reply(status: 201, "Location: /v1/a/1", "Digest: x") : Self.reply()
            }
            let made = try await ask(scene, "POST")
            #expect(made.status == 201)
            #expect(made.text == "[1]")
            #expect(made["Content-Length"] == "3")
            #expect(made["Location"] == "/v1/a/1")
            #expect(made["ETag"] == nil)
            #expect(made["Digest"] == nil)
            #expect(made["Cache-Status"] == "Larder; fwd=method; fwd-status=201")
            #expect(try await ask(scene, "PUT").text == "[1]")
            for method in ["PATCH", "DELETE", "REPORT"] {
                let answer = try await ask(scene, method)
                #expect(answer.text == Self.content, "\(method)")
                #expect(answer["ETag"] == "\"origin\"")
            }
            let got = try await scene.get("/v1/a")
            #expect(got.text == "[2]")
            #expect(got["ETag"] != "\"origin\"")
            // Nothing of what a write brought is kept, whatever it says.
            #expect(scene.origin.seen.map(\.method) == ["POST", "PUT", "PATCH", "DELETE", "REPORT", "GET"])
            #expect(try await scene.get("/v1/a")["Cache-Status"] == "Larder; hit; ttl=600")
        }
    }

    @Test(arguments: ["no-transform", "length", "chunked", "empty", "type", "raw"])
    func `PL-10 what no transformer is for goes on as it came`(why: String) async throws {
        let raw = why == "raw" ? "\n- { methods: [POST], serve: raw }" : ""
        let yaml = WrittenScenarios.service(
            "- { methods: [POST], pipeline: { model: [ { jsonPointer: /item, contentTypes: application/json } ] } }"
                + raw)
        try await WrittenScenarios.run(yaml, { $0.limits.transformedContent = .kibibytes(1) }) { (scene) async throws in
            let large = #"{"item":[1],"filler":"\#(String(repeating: "x", count: 3_000))"}"#
            let content = ["length", "chunked"].contains(why) ? large : why == "empty" ? "" : Self.content
            scene.origin.answer { _ in
                switch why {
                case "no-transform":
                    OriginRequest.response(
                        200, ["Cache-Control: no-transform", "Content-Type: application/json", "ETag: \"origin\""],
                        content: content)
                case "type":
                    OriginRequest.response(200, ["Content-Type: text/plain", "ETag: \"origin\""], content: content)
                case "chunked":
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
                        + "ETag: \"origin\"\r\n\r\n" + "3e8\r\n\(content.prefix(1_000))\r\n"
                        + "\(String(content.count - 1_000, radix: 16))\r\n\(content.dropFirst(1_000))\r\n0\r\nX-End: 1\r\n\r\n"
                default: Self.reply(content)
                }
            }
            let answer = try await ask(scene, "POST")
            #expect(answer.status == 200)
            #expect(answer.isWhole)
            #expect(answer.text == content)
            #expect(answer["ETag"] == "\"origin\"")
            #expect(answer.trailers.map(\.name) == (why == "chunked" ? ["X-End"] : []))
            #expect(
                scene.log.values.contains { $0.contains("too large to be transformed") }
                    == ["length", "chunked"].contains(why))
        }
    }

    @Test func `PL-10 a response that the pipeline refuses is an error, and the write counts all the same`()
        async throws
    {
        try await WrittenScenarios.run(Self.yaml) { (scene) async throws in
            scene.origin.answer { $0.method == "GET" ? Self.reply() : Self.reply(#"{"other":1}"#) }
            _ = try await scene.get("/v1/a")
            let refused = try await ask(scene, "POST")
            #expect(refused.status == 502)
            #expect(refused["Content-Type"] == "application/problem+json")
            #expect(refused.text.contains("in stage ‘model’"))

            _ = try await scene.get("/v1/a")
            #expect(scene.origin.seen.map(\.method) == ["GET", "POST", "GET"])
            // Errors of the origin are its own.
            scene.origin.answer { _ in Self.reply(#"{"error":"no"}"#, status: 422) }
            let error = try await ask(scene, "POST")
            #expect(error.status == 422)
            #expect(error.text == #"{"error":"no"}"#)
        }
    }

    @Test func `PL-10 what a write promotes is what the origin sent, through the pipeline for reading`() async throws {
        let yaml = Self.yaml + "      - { methods: [PUT], afterWrite: promote }\n"
        try await WrittenScenarios.run(yaml) { (scene) async throws in
            scene.origin.answer { _ in Self.reply() }
            #expect(try await ask(scene, "PUT").text == "[1]")
            let got = try await scene.get("/v1/a")
            #expect(got.text == "[2]")
            #expect(got["Cache-Status"] == "Larder; hit; ttl=600")
            #expect(scene.origin.seen.map(\.method) == ["PUT"])
        }
    }
}
