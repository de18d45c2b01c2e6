// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Memory stays within its limit, however many loads are under way and however slowly they are read.
@Suite("Scenarios: memory")
struct MemoryScenarios {
    @Test(arguments: [true, false]) func `loads share half the memory, and what finds no room passes through whole`(
        onDisk: Bool
    ) async throws {
        try await Scenario.run(
            onDisk: onDisk,
            { settings, _ in
                settings.cache.memory = .mebibytes(2)
                settings.cache.disk = .mebibytes(64)
            }
        ) { (scene) async throws in
            let size = 100 << 10
            let content = SizeScenarios.content(size)
            let registry = scene.proxy.registry
            var clients: [Wire] = []
            var requests: [OriginRequest] = []
            for number in 0..<40 {
                let client = try await scene.client("client \(number)", isHeld: true)
                try await client.get(scene.url("/\(number)"))
                clients.append(client)
                let request = try await scene.origin.request()
                // Half of them with their length, half without.
                if number % 2 == 0 {
                    try await request.send("HTTP/1.1 200 OK", "Content-Length: \(size)", SizeScenarios.fresh)
                } else {
                    try await request.send("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", SizeScenarios.fresh)
                }
                try await scene.write(content[..<(size / 2)], of: number, to: request)
                requests.append(request)
                #expect(registry.reserved <= 1 << 20)
                #expect(registry.bytes <= 2 << 20)
            }
            try await eventually("loads have what there is") { registry.reserved > 1 << 19 }
            for client in clients { client.release() }
            for (number, request) in requests.enumerated() {
                try await scene.write(content[(size / 2)...], of: number, to: request)
                if number % 2 == 1 { try await request.write("0\r\n\r\n") }
                request.finish()
            }
            try await scene.lettingTimePass(.milliseconds(1)) {
                for client in clients {
                    let response = try await client.response()
                    #expect(response.isWhole)
                    #expect(response.content == content)
                }
            }
            try await eventually("all is given back") { registry.reserved == 0 }
            #expect(registry.bytes <= 2 << 20)
            #expect(registry.checkInvariants() == [])
            // Some are in memory; where there is a disk, all are kept.
            var hits = 0
            for number in 0..<40 where scene.origin.count(of: "/\(number)") == 1 {
                scene.origin.answer { _ in .ok(content: "again") }
                let response = try await scene.get("/\(number)")
                if response.content == content { hits += 1 }
            }
            #expect(onDisk ? hits == 40 : hits >= 5)
        }
    }
}

extension Scenario {
    /// Sends a piece of the response to a client's request.
    fileprivate func write(_ piece: ArraySlice<UInt8>, of number: Int, to request: OriginRequest) async throws {
        let size = number % 2 == 1 ? Array("\(String(piece.count, radix: 16))\r\n".utf8) : []
        try await request.wire.write(size + piece + (number % 2 == 1 ? [0x0D, 0x0A] : []))
    }
}
