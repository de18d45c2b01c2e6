// SPDX-License-Identifier: Apache-2.0
import LarderProxy
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Services whose users' own is shared")
struct SharedServiceTests {
    private func problems(_ settings: String) throws -> [String] {
        var fixture = try ConfigurationFixture(
            """
            access: { users: /etc/users }
            services:
              api:
                baseURL: https://api.test/
                shared: true
                \(settings.replacing("\n", with: "\n    "))

            """)
        // The file is named, but not read.
        fixture.loader.readsUsers = false
        return fixture.problems().map { "\($0.setting): \($0.found)" }
    }

    @Test(arguments: [
        ("privacy: shared", "`shared: true` with `privacy: shared`"),
        ("privacy: private", "`shared: true` with `privacy: private`"),
        ("privacy: partitioned", "`shared: true` without an `identity`"),
        ("privacy: partitioned\nidentity: [client]", "`shared: true` with `client` in the `identity`"),
        ("privacy: partitioned\nidentity: [user]", "`shared: true` with `user` in the `identity`"),
        ("privacy: partitioned\nidentity: [Authorization, client]", "`shared: true` with `client` in the `identity`"),
        (
            "privacy: partitioned\nidentity: [Authorization]\nconfigure: [{ headers: { X-Api-Key: secret } }]",
            "`shared: true` where Larder adds credentials of its own"
        ),
        (
            "privacy: partitioned\nidentity: [Authorization]\ntls: { certificate: /c.pem, key: /k.pem }",
            "`shared: true` where Larder adds credentials of its own"
        ),
    ])
    func `one where another user might get it is refused`(_ settings: String, _ found: String) throws {
        let problems = try problems(settings).filter { $0.hasPrefix("services.api.shared:") }
        #expect(problems == ["services.api.shared: \(found)"])
    }

    @Test(arguments: [
        "privacy: partitioned\nidentity: [Authorization]",
        "privacy: partitioned\nidentity: [\"cookie: session\", X-Api-Key]\nconfigure: [{ headers: { X-Api-Key: null } }]",
    ])
    func `one that every daemon tells users apart for is not`(_ settings: String) throws {
        #expect(try problems(settings) == [])
    }
}
