// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import LarderCLI

@Suite("Command line")
struct CommandLineTests {
    @Test func `serve takes a file and settings in their order`() throws {
        let serve = try #require(
            try Program.parseAsRoot(["serve", "--config", "a.yaml", "--set", "a=1", "--set", "b={c: 2}"]) as? Serve)
        #expect(serve.config == "a.yaml")
        #expect(serve.options.overrides == ["a=1", "b={c: 2}"])
    }

    @Test func `explain takes fields of the request`() throws {
        let explain = try #require(
            try Program.parseAsRoot(["explain", "-H", "Accept: text/html", "-H", "X:y", "http://a/"]) as? Explain)
        #expect(explain.headers == ["Accept: text/html", "X:y"])
        #expect(explain.url == "http://a/")
    }

    @Test(arguments: [
        ["explain", "-H", "nonsense", "http://a/"], ["invalidate"], ["invalidate", "http://a/", "--match", "**"],
        ["wipe"], ["show"], ["load"], ["frobnicate"], ["serve", "--nonsense"], ["settings", "--markdown", "--json"],
    ])
    func `what is not understood exits with 64`(arguments: [String]) {
        #expect {
            try Program.parseAsRoot(arguments)
        } throws: { error in
            Program.exitCode(for: error).rawValue == 64
        }
    }

    @Test(arguments: [
        ("stauts", "status"), ("Serve", "serve"), ("lsit", "list"), ("frobnicate", nil), ("list", nil), ("--hepl", nil),
    ])
    func `a misspelt command is told the one that was meant`(word: String, command: String?) {
        #expect(
            Program.suggestion(for: word)
                == command.map {
                    "'\(word)' is no command; did you mean `larder \($0)`? `larder --help` lists them all."
                })
    }

    @Test func `what fails exits with 1`() {
        #expect(Program.exitCode(for: CommandFailure("x")).rawValue == 1)
    }

    @Test(arguments: [
        (["invalidate", "http://a/"], "/-/resource/invalidate", ["url=http://a/"]),
        (["invalidate", "--match", "/a/**"], "/-/invalidate", ["match=/a/**"]),
        (["invalidate", "--group", "red"], "/-/invalidate", ["group=red"]),
        (
            ["invalidate", "--group", "red", "--origin", "http://a"], "/-/invalidate",
            ["group=red", "origin=http://a"]
        ),
    ])
    func `an action is about one resource, a pattern or a group`(
        arguments: [String], path: String, parameters: [String]
    ) throws {
        let invalidate = try #require(try Program.parseAsRoot(arguments) as? Invalidate)
        let target = invalidate.selection.target("invalidate")
        #expect(target.path == path)
        #expect(target.parameters.map { "\($0.name)=\($0.value)" } == parameters)
    }

    @Test(arguments: [
        ["wipe"], ["wipe", "http://a/", "--group", "red"], ["wipe", "--match", "/**", "--group", "red"],
        ["wipe", "--match", "/**", "--origin", "http://a"],
    ])
    func `what is not clear is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try Program.parseAsRoot(arguments) }
    }

    @Test func `offline says how it is, or takes a mode and perhaps a service`() throws {
        let asking = try #require(try Program.parseAsRoot(["offline"]) as? OfflineCommand)
        #expect(asking.mode == nil)
        let all = try #require(try Program.parseAsRoot(["offline", "auto"]) as? OfflineCommand)
        #expect(all.mode == .auto)
        #expect(all.service == nil)
        let one = try #require(try Program.parseAsRoot(["offline", "on", "github"]) as? OfflineCommand)
        #expect(one.mode == .on)
        #expect(one.service == "github")
        #expect(throws: (any Error).self) { try Program.parseAsRoot(["offline", "sometimes"]) }
        #expect(OfflineCommand.configuration.discussion.contains("but not the daemon"))
    }

    @Test func `help names the exit statuses and every command`() {
        let help = Program.helpMessage()
        #expect(help.contains("64"))
        for command in [
            "serve", "check", "settings", "status", "explain", "list", "show", "load", "invalidate", "wipe", "offline",
        ] {
            #expect(help.contains("  \(command) "), "\(command)")
        }
    }
}
