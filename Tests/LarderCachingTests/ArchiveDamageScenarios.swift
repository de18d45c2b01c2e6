// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderStores
import LarderTesting
import Testing

@testable import LarderAdmin

/// Archives that are not as an export wrote them, by accident or on purpose.
@Suite("Scenarios: imports of damaged and foreign archives")
struct ArchiveDamageScenarios {
    private let plain = ArchiveScenarios()

    /// An archive of these heads, each with the content `x`.
    private func archive(_ heads: [String], entities: Int? = nil, hasSums: Bool = true) -> [UInt8] {
        var octets = Tar.file("archive.json", Array("{\"format\": 1}".utf8), modified: 0)
        for (number, head) in heads.enumerated() {
            let (name, head) = ("entities/\(number)", Array(head.utf8))
            octets += Tar.file(name + ".json", head, modified: 0) + Tar.file(name + ".octets", [0x78], modified: 0)
            let sums = ArchivedEntity.sums(name, head: ContentDigest(of: head), content: ContentDigest(of: [0x78]))
            if hasSums { octets += Tar.file(name + ".sha256", sums, modified: 0) }
        }
        let summary = "{\"entities\": \(entities ?? heads.count)}"
        return octets + Tar.file("summary.json", Array(summary.utf8), modified: 0) + Tar.end
    }

    private func head(
        _ scene: Scenario, url: String? = nil, status: Int = 200,
        fields: String = "[\"Cache-Control\", \"max-age=600\"]", received: Duration = .zero,
        more: String = "\"length\": 1"
    ) -> String {
        let time = (scene.proxy.now + received).nanoseconds
        return """
            {"url": "\(url ?? scene.url("/a"))", "service": "api", "method": "GET", "status": \(status),
            "fields": [\(fields)], "requested": \(time), "received": \(time), \(more)}
            """
    }

    @Test func `whichever octet of an archive is altered, nothing is served that the origin did not send`()
        async throws
    {
        try await plain.run { (scene) async throws in
            scene.origin.answer { .ok(ArchiveScenarios.fresh, "X-Mark: sent", content: "content of \($0.target)") }
            for path in ["/a", "/b"] { _ = try await scene.get(path) }
            let archive = try await plain.exported(scene)
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "asked again") }
            var refused = 0
            for place in stride(from: 0, to: archive.count, by: 149) {
                try await plain.wipe(scene)
                var altered = archive
                altered[place] ^= 1
                let answer = try await plain.send(scene, "POST", "/-/import", altered)
                #expect([200, 422].contains(answer.status), "\(place): \(answer.text)")
                for path in ["/a", "/b"] {
                    let got = try await scene.get(path)
                    if got.text == "asked again" {
                        refused += 1
                    } else {
                        #expect(got.text == "content of \(path)" && got["X-Mark"] == "sent", "\(place)")
                        #expect(got["Cache-Status"]?.contains("; hit; ttl=600") == true, "\(place): \(got.head)")
                    }
                }
            }
            #expect(refused > 0)
        }
    }

    @Test func `an archive made by hand is taken, and framed as any response`() async throws {
        try await plain.run { (scene) async throws in
            let fields = """
                ["Cache-Control", "max-age=600"], ["Content-Length", "1000"], ["Transfer-Encoding", "chunked"],
                ["Connection", "X-Hop"], ["X-Hop", "1"], ["X-Kept", "1"]
                """
            let one = head(scene, fields: fields)
            let report = try await plain.imported(scene, archive([one, one]))
            #expect(report["imported"]?.int == 1 && report["kept"]?.int == 1, "\(report)")
            scene.origin.answer { _ in .ok(content: "asked again") }
            let got = try await scene.get("/a")
            #expect(got.text == "x" && got["Content-Length"] == "1" && got["X-Kept"] == "1")
            #expect(got["Transfer-Encoding"] == nil && got["X-Hop"] == nil)
        }
    }

    @Test func `heads that no origin sends, or that nobody stores here, are refused with the reason`() async throws {
        try await plain.run { (scene) async throws in
            let deep = String(repeating: "[", count: 100_000)
            let many = Array(repeating: "[\"A\", \"1\"]", count: 500).joined(separator: ",")
            let names = (0..<65).map { "[\"A\($0)\", null]" }.joined(separator: ",")
            let long = Array(repeating: "[\"A\", \"\(String(repeating: "x", count: 60_000))\"]", count: 3)
            let refusals: [(head: String, why: String)] = [
                (head(scene, url: "../../etc/passwd"), "neither an http or https URL"),
                (head(scene, url: "file:///etc/passwd"), "neither an http or https URL"),
                (head(scene, url: scene.url("/a") + "\\r\\nX: y"), ""),
                (head(scene, url: scene.url("/x/../a")), "stored as"),
                (head(scene, status: 304), "status"),
                (head(scene, status: 99), "status"),
                (head(scene, fields: "[\"Bad Name\", \"1\"]"), "no message may have"),
                (head(scene, fields: "[\"A\", \"1\\r\\nB: 2\"]"), "no message may have"),
                (head(scene, fields: "[\"A\", \"\\u0000\"]"), "no message may have"),
                (head(scene, fields: "[\"A\", \" 1\"]"), "no message may have"),
                (head(scene, fields: "[\"A\", \"1\\t\"]"), "no message may have"),
                (head(scene, fields: many), "limits.fieldLines"),
                (head(scene, fields: long.joined(separator: ",")), "limits.headSize"),
                (head(scene, more: "\"length\": 1, \"vary\": [\(names)]"), "than `Vary` may name"),
                (head(scene, more: "\"length\": 1, \"x\": \"\(String(repeating: "x", count: 600_000))\""), "any head"),
                (head(scene, fields: "[\"Cache-Control\", \"no-store\"]"), "does not store it (no-store)"),
                (head(scene, fields: "[\"Vary\", \"*\"], [\"Cache-Control\", \"max-age=9\"]"), "(vary)"),
                (head(scene, received: .seconds(7_200)), "in the future"),
                (head(scene, more: "\"length\": 1125899906842624"), "cache.maxObject"),
                (head(scene, more: "\"length\": -1"), "length"),
                (head(scene, more: "\"length\": 2"), "digests say"),
                (head(scene, more: "\"length\": 1, \"deep\": \(deep)"), "no JSON"),
                ("{}", "no text"),
            ]
            let report = try await plain.imported(scene, archive(refusals.map(\.head)))
            #expect(report["imported"]?.int == 0 && report["refused"]?.int == refusals.count, "\(report)")
            #expect(report["isComplete"]?.bool == true)
            for (expected, found) in zip(refusals, report["refusals"]?.array ?? []) {
                #expect(found["why"]?.string?.contains(expected.why) == true, "\(found)")
            }
        }
    }

    @Test func `what may be one user's alone is not taken unasked either`() async throws {
        try await plain.run { (scene) async throws in
            let heads = [
                head(scene, fields: "[\"Cache-Control\", \"private, max-age=600\"]"),
                head(scene, fields: "[\"Cache-Control\", \"max-age=600\"], [\"Set-Cookie\", \"a=b\"]"),
                head(scene, more: "\"length\": 1, \"partition\": \"somebody\""),
                head(scene, more: "\"length\": 1, \"authorized\": true"),
            ]
            #expect(try await plain.imported(scene, archive(heads))["private"]?.int == 4)
            let report = try await plain.imported(scene, archive(heads), "?private=true")
            #expect(report.description.contains("a user of another installation"), "\(report)")
        }
    }

    @Test func `files that are missing are told of`() async throws {
        try await plain.run { (scene) async throws in
            let one = head(scene)
            let unsigned = try await plain.imported(scene, archive([one], entities: 0, hasSums: false))
            #expect(unsigned["refused"]?.int == 1 && unsigned["imported"]?.int == 0, "\(unsigned)")
            #expect(unsigned["refusals"]?[0]?["why"]?.string?.contains("without its content") == true)
            let fewer = try await plain.imported(scene, archive([one], entities: 2))
            #expect(fewer["imported"]?.int == 1 && fewer["isComplete"]?.bool == false, "\(fewer)")
            #expect(fewer["problem"]?.string?.contains("its summary says 2") == true)
            let endless = try await plain.imported(scene, Array(archive([one]).dropLast(1_024)))
            #expect(endless["isComplete"]?.bool == true, "\(endless)")
        }
    }
}
