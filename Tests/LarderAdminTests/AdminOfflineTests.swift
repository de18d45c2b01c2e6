// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderProxy
import Testing

@testable import LarderAdmin

@Suite("Going offline by hand")
struct AdminOfflineTests {
    @Test func `the mode is shown, chosen and taken back`() async throws {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.get("/-/offline").json["mode"]?.string == "off")
            let chosen = try daemon.command("POST", "/-/offline?mode=on&service=api").json
            #expect(chosen["mode"]?.string == "off")
            #expect(chosen["services"]?[0]?["mode"]?.string == "on")
            #expect(chosen["services"]?[0]?["offline"]?.bool == true)
            #expect(try daemon.get("/api/a").status == 504)
            let status = try daemon.get("/-/status").json
            #expect(status["services"]?[0]?["offline"]?.bool == true)
            #expect(status["services"]?[0]?["offlineMode"]?.string == "on")
            #expect(status["offline"]?["mode"]?.string == "off")
            #expect(try daemon.get("/-/metrics").content.contains("larder_service_offline{service=\"api\"} 1"))
            let explained = try daemon.get("/-/explain?url=/api/a").json
            #expect(explained["decision"]?.string == "refuse")
            #expect(explained["reason"]?.string == "offline")
            _ = try daemon.command("POST", "/-/offline?mode=configured&service=api")
            #expect(try daemon.get("/api/a").status == 200)
            #expect(try daemon.command("POST", "/-/offline?mode=auto").json["chosen"]?.string == "auto")
        }
    }

    @Test(arguments: [
        ("/-/offline", 400), ("/-/offline?mode=sometimes", 400), ("/-/offline?mode=on&service=nobody", 400),
        ("/-/offline?mode=on&url=x", 400),
    ])
    func `what makes no sense is refused`(target: String, status: Int) async throws {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.command("POST", target).status == status)
            #expect(daemon.daemon.proxy.offline.choices == OfflineSwitch.Choices())
        }
    }

    @Test func `it takes the socket or the token to change it`() async throws {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.send("POST", "/-/offline?mode=on").status == 403)
            #expect(try daemon.send("POST", "/-/offline?mode=on", ["Authorization: Bearer secret"]).status == 200)
        }
    }
}
