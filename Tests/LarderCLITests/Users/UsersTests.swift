// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import LarderIO
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("access.users")
struct UsersTests {
    private static let hash = "$5$rounds=1000$AEZ64zJNmMs1hRCs$F8kEOJSyrZVOIQ3bUaNPGvYATE/sB2EQbL4XpeYgEy8"

    /// A file of users as long as a test needs it.
    private final class File {
        let path = NSTemporaryDirectory() + "larder-users-\(UUID().uuidString)"
        var yaml: String { "access:\n  users: \(path)\n" }

        init(_ octets: [UInt8]?, mode: Int = 0o600) throws {
            guard let octets else { return }
            try Data(octets).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }

        convenience init(_ text: String?, mode: Int = 0o600) throws {
            try self.init(text.map { Array($0.utf8) }, mode: mode)
        }

        deinit { unlink(path) }
    }

    private func problems(_ text: String?, mode: Int = 0o600, _ yaml: String = "") throws -> [SettingsProblem] {
        let file = try File(text, mode: mode)
        defer { withExtendedLifetime(file) {} }
        return try ConfigurationFixture(file.yaml + yaml).problems()
    }

    private func warnings(_ text: String, mode: Int = 0o600) throws -> [SettingsProblem] {
        let file = try File(text, mode: mode)
        defer { withExtendedLifetime(file) {} }
        let fixture = try ConfigurationFixture(file.yaml)
        return try fixture.loader.load().warnings
    }

    @Test func `the users are read with the configuration`() throws {
        let file = try File("# team\nanna:\(Self.hash)\n")
        let fixture = try ConfigurationFixture(file.yaml)
        let loaded = try fixture.loader.load()
        #expect(loaded.settings.access.users == file.path)
        #expect(loaded.settings.access.userTable?.users.map(\.name) == ["anna"])
        #expect(loaded.warnings.isEmpty)
        #expect(!SettingsCatalogue.show(loaded.settings).yamlBlock.contains("anna"))
        // The command that makes the file does without it.
        unlink(file.path)
        var loader = fixture.loader
        loader.readsUsers = false
        #expect(try loader.load().settings.access.users == file.path)
    }

    @Test func `what is wrong with a line is said with its place`() throws {
        let found = try problems("anna:\(Self.hash)\n\nben:rEK1ecacw.7.c\n")
        #expect(found.map(\.line) == [3] && found.map(\.column) == [5])
        #expect("\(found)".contains("DES") && !"\(found)".contains("rEK1"))
    }

    @Test(arguments: [0o620, 0o602, 0o666, 0o660])
    func `a file that others can write to is refused`(mode: Int) throws {
        let found = try problems("anna:\(Self.hash)\n", mode: mode)
        #expect(found.count == 1)
        #expect(found.first?.found.hasSuffix("which others can write to") == true)
    }

    @Test func `one that others can read is a warning, and so is one without users`() throws {
        #expect(try warnings("anna:\(Self.hash)\n", mode: 0o644).map(\.setting) == ["access.users"])
        #expect(try warnings("anna:\(Self.hash)\n", mode: 0o640).isEmpty)
        #expect(try warnings("# nobody\n").first?.found.hasSuffix("which has no users") == true)
    }

    @Test func `what could make the reader wait for ever is no file`() throws {
        let fixture = try ConfigurationFixture("")
        let pipe = fixture.directory + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        for (yaml, setting) in [
            ("access:\n  users: PIPE\n", "access.users"), ("access:\n  users: /dev/zero\n", "access.users"),
            ("admin:\n  token: ${file:PIPE}\n", "admin.token"), ("upstream:\n  caFile: PIPE\n", "upstream.caFile"),
            ("tls:\n  listen: 127.0.0.1:0\n  certificate: PIPE\n  key: PIPE\n", "tls.certificate"),
            ("services:\n  a: { baseURL: \"https://a.test/\", tls: { caFile: PIPE } }\n", "services.a.tls.caFile"),
        ] {
            let found = try ConfigurationFixture(yaml.replacing("PIPE", with: pipe)).problems()
            #expect(found.first?.setting == setting && "\(found)".contains("it is not a file"), "\(setting): \(found)")
        }
        #expect(throws: BoundedFile.Failure.notAFile) { try BoundedFile.read(pipe, limit: 10, .regular) }
        #expect(throws: CommandFailure.self) { try StoredUsers(path: pipe).read() }
    }

    @Test func `a configuration that names no file of users is named itself`() throws {
        let fixture = try ConfigurationFixture("threads: 1\n")
        let path = fixture.directory + "/larder.yaml"
        let remove = try #require(
            try Program.parseAsRoot(["user", "remove", "anna", "--config", path]) as? RemoveUser)
        #expect {
            try remove.users.users()
        } throws: { error in
            "\(error)".hasPrefix("the configuration \(path) names no file of users; name the daemon's with --config")
        }
    }

    @Test func `a pipe is read up to where its writer has closed it`() throws {
        let fixture = try ConfigurationFixture("")
        let path = fixture.directory + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        // With another reader, the writer does not wait for one, and the pipe keeps what is written.
        let other = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(other) }
        let writer = open(path, O_WRONLY)
        #expect(write(writer, "abc", 3) == 3)
        close(writer)
        #expect(try BoundedFile.read(path, limit: 10, .promptPipe) == Array("abc".utf8))
    }

    @Test func `a file that is missing, too long or no text is refused`() throws {
        #expect(try problems(nil).first?.advice == "`larder user add NAME` makes it")
        #expect(try problems(String(repeating: "#\n", count: 600_000)).first?.found.contains("larger than") == true)
        let file = try File([0x61, 0xFF])
        defer { withExtendedLifetime(file) {} }
        #expect(try ConfigurationFixture(file.yaml).problems().first?.found == "an octet that is not UTF-8")
    }

    @Test func `users tell clients apart only where they are asked for`() throws {
        let yaml = "services:\n  api: { baseURL: \"https://api.test/\", privacy: partitioned, identity: [user] }\n"
        let alone = try ConfigurationFixture(yaml)
        #expect(alone.problems().map(\.setting) == ["services.api.identity"])
        #expect(try problems("anna:\(Self.hash)\n", yaml).isEmpty)
    }
}

@Suite("The stored users")
struct StoredUsersTests {
    private static let hash = "$5$rounds=1000$AEZ64zJNmMs1hRCs$F8kEOJSyrZVOIQ3bUaNPGvYATE/sB2EQbL4XpeYgEy8"

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    @Test func `a new file is for its owner alone, and one that is there keeps its mode and its comments`() throws {
        let fixture = try ConfigurationFixture("")
        let stored = StoredUsers(path: fixture.directory + "/users")
        let hash = try PasswordHash(Self.hash)
        #expect(try stored.read() == nil)
        #expect(try stored.change { file in !file.set("anna", hash) })
        #expect(try mode(of: stored.path) == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: stored.path)
        try Data("# team\nanna:\(Self.hash)\n".utf8).write(to: URL(fileURLWithPath: stored.path), options: [])
        #expect(try !stored.change { file in !file.set("ben", hash) })
        #expect(try text(stored.path) == "# team\nanna:\(Self.hash)\nben:\(Self.hash)\n")
        #expect(try mode(of: stored.path) == 0o640)
        // Nothing else is left in the directory.
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(Set(names) == ["larder.yaml", "users"])
    }

    @Test func `a link to the file stays one`() throws {
        let fixture = try ConfigurationFixture("")
        let path = try fixture.write("# team\n", to: "real")
        let stored = StoredUsers(path: fixture.directory + "/link")
        try FileManager.default.createSymbolicLink(atPath: stored.path, withDestinationPath: path)
        let hash = try PasswordHash(Self.hash)
        try stored.change { file in !file.set("anna", hash) }
        #expect(try text(path) == "# team\nanna:\(Self.hash)\n")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: stored.path) == path)
    }

    @Test func `a place that cannot be written to is said, and nothing is changed without need`() throws {
        #expect {
            try StoredUsers(path: "/proc/nothing/users").change { _ in true }
        } throws: { error in
            "\(error)".hasPrefix("cannot open the directory /proc/nothing: ")
        }
        let fixture = try ConfigurationFixture("")
        let path = try fixture.write("# team", to: "users")
        try StoredUsers(path: path).change { $0.remove("anna") }
        #expect(try text(path) == "# team")
    }
}

@Suite("Passwords that are typed")
struct PasswordLineTests {
    private func typed(_ octets: [UInt8]) -> PasswordLine.Outcome {
        var line = PasswordLine()
        for octet in octets.dropLast() { #expect(line.take(octet) == .more) }
        return octets.last.map { line.take($0) } ?? .more
    }

    @Test(
        arguments: [
            ("flour\n", "flour"), ("flour\r", "flour"), ("\n", ""), ("flx\u{7F}our\n", "flour"), ("f ä\u{8}o\n", "f o"),
            ("wrong\u{15}flour\n", "flour"), ("\u{7F}\u{7F}a\n", "a"),
        ] as [(String, String)])
    func `keys of a terminal are understood`(keys: String, password: String) {
        #expect(typed(Array(keys.utf8)) == .done(password))
    }

    @Test func `it can be given up, and must be text`() {
        for key in [UInt8(3), 4, 0x1C] { #expect(typed([0x61, key]) == .givenUp) }
        #expect(typed([0xFF, 0x0A]) == .notText)
        #expect(PasswordLine.refusal(of: "") != nil)
        #expect(PasswordLine.refusal(of: "a\tb") != nil)
        #expect(PasswordLine.refusal(of: String(repeating: "x", count: 512)) != nil)
        #expect(PasswordLine.refusal(of: "pässwörd: x") == nil)
    }
}
