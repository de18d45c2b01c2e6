// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import Testing

@testable import LarderAdmin

@Suite("Admin: variables")
struct AdminVariablesTests {
    static func run(_ body: (AdminFixture) async throws -> Void) async throws {
        var variable = VariableSettings()
        variable.name = "token"
        variable.initial = Secret("hush")
        var block = ConfigureBlock()
        block.headers = [HeaderEdit(name: .authorization, value: Secret([.variable("token")], reference: "${token}"))]
        try await AdminFixture.run({ $0.variables = [variable] }, configure: [block], body)
    }

    private func put(_ fixture: AdminFixture, _ name: String, _ value: String) throws -> Answer {
        try Answer(
            AdminWire.unix(
                fixture.socketPath,
                "PUT /-/variables/\(name) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    + "Content-Length: \(value.utf8.count)\r\n\r\n\(value)"))
    }

    @Test func `CF-16 variables are listed without their values, and set over the socket`() async throws {
        try await Self.run { (fixture) async throws in
            let list = try fixture.get("/-/variables")
            let line = try #require(try list.json["variables"]?[0])
            #expect(line["name"]?.string == "token")
            #expect(line["isSet"]?.bool == true)
            #expect(line["services"]?[0]?.string == "api")
            #expect(!list.content.contains("hush"))
            #expect(try put(fixture, "token", "new\n").json["changed"]?.bool == true)
            #expect(try put(fixture, "token", "new").json["changed"]?.bool == false)
            #expect(fixture.daemon.proxy.configuration.variables?.values["token"] == "new")
            #expect(try !fixture.get("/-/variables").content.contains("new"))
        }
    }

    @Test(arguments: [("token", "", 400), ("token", "a\nb", 400), ("token", "ä", 400), ("tokn", "x", 404)])
    func `what is no value or no variable is refused`(name: String, value: String, status: Int) async throws {
        try await Self.run { (fixture) async throws in
            #expect(try put(fixture, name, value).status == status)
            #expect(fixture.daemon.proxy.configuration.variables?.values["token"] == "hush")
        }
    }

    @Test func `over TCP a variable is set with the admin token alone`() async throws {
        try await Self.run { (fixture) async throws in
            let request = { (lines: String) in
                "PUT /-/variables/token HTTP/1.1\r\nHost: localhost:\(fixture.port)\r\nConnection: close\r\n"
                    + "Content-Length: 3\r\n\(lines)\r\nnew"
            }
            #expect(try fixture.raw(request("")).status == 403)
            #expect(try fixture.raw(request("Authorization: Bearer secret\r\n")).status == 200)
            #expect(try fixture.send("DELETE", "/-/variables/token", ["Authorization: Bearer secret"]).status == 405)
        }
    }
}
