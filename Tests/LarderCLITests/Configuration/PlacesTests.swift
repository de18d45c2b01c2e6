// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import LarderAdmin
import LarderIO
import LarderPeers
import LarderProxy
import LarderSettings
import Logging
import Testing

@testable import LarderCLI
@testable import LarderStores

@Suite("Places where the daemon cannot write")
struct PlacesTests {
    @Test(arguments: [
        ("cache.path=/dev/null/x/larder.db", "cache.path", "/dev/null"),
        ("admin.socket=/dev/null/x/larder.sock", "admin.socket", "/dev/null"),
        ("admin.socketGroup=no-such-group", "admin.socketGroup", "does not have"),
    ])
    func `a place or a group that cannot be used is a problem for a check`(
        setting: String, name: String, found: String
    ) throws {
        let fixture = try ConfigurationFixture("", set: [setting])
        let loaded = try fixture.loader.load()
        let problem = try #require(loaded.absent.first)
        #expect(problem.setting == name)
        #expect(problem.found.contains(found), "\(problem.found)")
    }

    @Test func `a directory for the socket that is open to others is refused`() throws {
        // Nobody's number.
        let paths = DefaultPaths(environment: [:], user: UInt32.random(in: 3_000_000_000...4_000_000_000))
        let folder = "/tmp/larder-\(paths.user)"
        try paths.checkTemporary(socket: folder + "/larder.sock")
        try #require(mkdir(folder, 0o777) == 0 && chmod(folder, 0o777) == 0)
        defer { rmdir(folder) }
        #expect(throws: CommandFailure.self) { try paths.checkTemporary(socket: folder + "/larder.sock") }
        // A place that the operator has named is the operator's own affair.
        try paths.checkTemporary(socket: folder + "/other.sock")
    }

    @Test func `a directory that holds something else is refused, and not one of Larder's in whatever state`() throws {
        let directory = FreshDirectory()
        func problem() throws -> SettingsProblem? {
            let fixture = try ConfigurationFixture("", set: ["cache.path=\(directory.path)"])
            return try fixture.loader.load().absent.first
        }
        mkdir(directory.path + "/lost+found", 0o700)
        #expect(try problem() == nil)
        try Data("a line".utf8).write(to: URL(filePath: directory.path + "/output.log"))
        #expect(try problem() == nil)
        mkdir(directory.path + "/python3", 0o700)
        #expect(try problem()?.found.contains("python3 is in it") == true)
        var settings = Settings()
        settings.cache.path = .path(directory.path + "/larder.db")
        settings.listen = []
        #expect {
            _ = try Daemon(settings: settings, logger: Logger(label: "test"))
        } throws: { error in
            "\(StartFailure.explained(error))".contains("python3 is in it")
        }
        try Data("damaged".utf8).write(to: URL(filePath: directory.path + "/larder.db"))
        #expect(try problem() == nil)
    }

    @Test func `a read-only file system is no matter of permissions`() {
        let error = StoreError(code: .unusableDirectory, message: "cannot make /a: Read-only file system")
        #expect("\(StartFailure.explained(error))".contains("; its file system is read-only: "))
        let other = StoreError(code: .unusableDirectory, message: "cannot make /a: Permission denied")
        #expect("\(StartFailure.explained(other))".contains("; give this user the directory"))
        let file = StoreError(code: .unusableDirectory, message: "open /a: Not a directory")
        #expect("\(StartFailure.explained(file))".contains("; `cache.path` is a directory: "))
    }

    @Test func `an address in use is told with the setting that names it`() {
        var settings = Settings()
        settings.admin.listen = [.loopback(port: 9)]
        func explained(_ place: String) -> String {
            let error = IOError(.addressInUse, errno: EADDRINUSE, operation: "listen on \(place)", detail: "in use")
            return "\(StartFailure.explained(error, settings))"
        }
        #expect(explained("127.0.0.1:9").contains("--set 'admin.listen=["))
        #expect(explained("unix:/run/a").contains("grep /run/a"))
        #expect(explained("unix:/run/a").contains("`admin.socket`"))
    }

    @Test func `a directory that can be made is no obstacle`() {
        #expect(DefaultPaths.obstacle(to: "/tmp/a/b/c/larder.db") == nil)
        #expect(DefaultPaths.obstacle(to: "/dev/null/larder.db")?.description.contains("Not a directory") == true)
    }

    @Test func `a directory that cannot be made is said with the reason`() {
        #expect {
            try DefaultPaths.makeDirectory(for: "/proc/nothing/x/larder.db")
        } throws: { error in
            "\(error)".hasPrefix("cannot make the directory /proc/nothing: ")
        }
    }
}

@Suite("Trust stores")
struct TrustStepsTests {
    @Test func `the cure of a failed step has those after it, and there is a reason`() {
        #expect {
            try TrustSteps(mayAsk: false).perform([
                .copy(from: "/nowhere/a.pem", to: "/nowhere/b.crt"), .run(["update-ca-certificates"]),
            ])
        } throws: { error in
            let failure = error as? TrustSteps.Failure
            return failure?.line == "sudo cp /nowhere/a.pem /nowhere/b.crt && sudo update-ca-certificates"
                && failure?.reason.contains("no such file") == true
        }
    }
}

@Suite("Selecting resources")
struct SelectionTests {
    @Test func `a wildcard in a URL is asked back about`() throws {
        #expect {
            _ = try Wipe.parse(["https://api.openai.com/**"])
        } throws: { error in
            Wipe.message(for: error).contains("--match 'https://api.openai.com/**'")
        }
        _ = try Wipe.parse(["https://api.openai.com/%2A"])
        _ = try Wipe.parse(["--match", "/products/*"])
    }

    @Test func `an empty pattern or group selects nothing, and says so in the command's words`() {
        for words in [["--match", ""], ["--group", ""], [""]] {
            #expect {
                _ = try Wipe.parse(words)
            } throws: { error in
                Wipe.message(for: error).contains("is empty: name a URL, resources with --match PATTERN")
            }
        }
    }
}
