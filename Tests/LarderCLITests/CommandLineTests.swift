// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import LarderHTTP
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
        #expect(explain.request.headers == ["Accept: text/html", "X:y"])
        #expect(explain.url == "http://a/")
    }

    @Test(arguments: [
        ["explain", "-H", "nonsense", "http://a/"], ["invalidate"], ["invalidate", "http://a/", "--match", "**"],
        ["wipe"], ["show"], ["load"], ["frobnicate"], ["serve", "--nonsense"], ["settings", "--markdown", "--json"],
        ["user", "add"], ["user", "add", "a:b"], ["user", "add", "lane-a"], ["user", "add", "a", "--config", "-"],
        ["user", "add", "a", "--file", "b", "--config", "c"], ["override", "http://a/", "--for", "1"],
        ["override", "http://a/", "--for", "366 days"], ["diff", "--at", "then", "http://a/"],
        ["get", "--json", "http://a/"], ["lane", "export", "--json", "a"],
    ])
    func `what is not understood exits with 64`(arguments: [String]) {
        #expect {
            try Program.parseAsRoot(arguments)
        } throws: { error in
            Program.exitCode(for: error).rawValue == 64
        }
    }

    @Test(arguments: [
        ("stauts", "status"), ("Serve", "serve"), ("lsit", "list"), ("ls", "list"), ("purge", "wipe"),
    ])
    func `a misspelt command is told the one that was meant`(word: String, command: String) {
        #expect(
            Program.suggestion(for: word)
                == "'\(word)' is no command; did you mean `larder \(command)`? `larder --help` lists them all")
    }

    @Test func `any other word is no command, and a command or an option is not corrected`() {
        #expect(Program.suggestion(for: "nosuch") == "'nosuch' is no command; `larder --help` lists them all")
        #expect(Program.suggestion(for: "stop")?.contains("`systemctl stop larder`") == true)
        #expect(Program.suggestion(for: "restart")?.contains("`systemctl restart larder`") == true)
        for word in ["list", "help", "--hepl", nil] { #expect(Program.suggestion(for: word) == nil) }
    }

    @Test(arguments: [
        (["-v"], ["--version"]), (["version"], ["--version"]), (["run", "echo", "-v"], ["run", "--", "echo", "-v"]),
        (["run", "--record", "a", "x", "--", "y"], ["run", "--record", "a", "--", "x", "--", "y"]),
        (["run", "--quiet", "--", "x"], ["run", "--quiet", "--", "x"]), (["run", "--offline"], ["run", "--offline"]),
        (["list", "-v"], ["list", "-v"]), ([], []),
    ])
    func `the command of run needs no dashes, and the version has short names`(given: [String], read: [String]) {
        #expect(Program.arguments(given) == read)
    }

    @Test func `all messages begin alike, and headings are as they are written`() {
        #expect(Program.message("Error: no such file") == "larder: no such file")
        let help = Program.message(Program.helpMessage())
        #expect(help.contains("\nASKING A RUNNING DAEMON:\n"))
        #expect(!help.contains("SUBCOMMANDS:"))
    }

    @Test(arguments: [["serve"], ["check"]])
    func `a configuration is an argument or an option`(command: [String]) throws {
        for rest in [["a.yaml"], ["--config", "a.yaml"]] {
            let parsed = try Program.parseAsRoot(command + rest)
            let file =
                (parsed as? Serve).flatMap { $0.file ?? $0.config }
                ?? (parsed as? Check).flatMap { $0.file ?? $0.config }
            #expect(file == "a.yaml")
        }
        #expect(throws: (any Error).self) { try Program.parseAsRoot(command + ["a.yaml", "--config", "b.yaml"]) }
    }

    @Test func `check reads standard input, which the daemon could not read again`() throws {
        let check = try #require(try Program.parseAsRoot(["check", "-"]) as? Check)
        #expect(check.options.loader(file: check.file).file == "/dev/stdin")
        #expect(throws: (any Error).self) { try Program.parseAsRoot(["serve", "-"]) }
    }

    @Test(arguments: [["offline"], ["env"], ["serve"]])
    func `help fits into sixty columns where it is a table`(command: [String]) {
        let parsed = try? Program.parseAsRoot(command)
        let help = parsed.map { type(of: $0).helpMessage(columns: 200) } ?? ""
        for line in help.split(separator: "\n") where line.contains("   ") && !line.hasPrefix(" ") {
            #expect(line.count <= 60, "\(line)")
        }
    }

    @Test(arguments: [
        ("There is no service ‘sohp’.", "there is no service 'sohp'"), ("CONNECT to it.", "CONNECT to it"),
        ("A part came.", "a part came"), ("Larder's own.", "Larder's own"), ("", ""), ("X", "x"),
    ])
    func `a sentence of the daemon becomes a clause`(sentence: String, clause: String) {
        #expect(CommandFailure.clause(sentence) == clause)
    }

    @Test func `an error of Larder's own is told from one of the origin`() {
        var own: Fields = [.contentType: "application/problem+json"]
        #expect(!Get.isOwnProblem(own))
        own[.proxyStatus] = "Larder; error=http_request_denied"
        #expect(Get.isOwnProblem(own))
    }

    @Test func `what fails exits with 1`() {
        #expect(Program.exitCode(for: CommandFailure("x")).rawValue == 1)
        #expect(Program.status(of: CommandFailure("x")).rawValue == 1)
    }

    @Test(arguments: [["settings", "zz"], ["preset", "show", "zz"]])
    func `what matches nothing exits with 2`(arguments: [String]) throws {
        var command = try Program.parseAsRoot(arguments)
        #expect {
            try command.run()
        } throws: { error in
            Program.status(of: error).rawValue == 2
        }
    }

    @Test(arguments: [(404, 2), (503, 1)])
    func `what the daemon does not know exits with 2`(answer: Int, status: Int32) throws {
        for arguments in [["show", "http://a/"], ["lane", "remove", "a"], ["lane", "export", "a"]] {
            let peer = try ScriptedPeer(answer: "HTTP/1.1 \(answer) No\r\n\r\n{\"detail\": \"None.\"}")
            var command = try Program.parseAsRoot(arguments + ["--socket", peer.path])
            #expect {
                try command.run()
            } throws: { error in
                Program.status(of: error).rawValue == status
            }
        }
    }

    @Test func `the value of an option is told with the option's name`() {
        #expect {
            try Program.parseAsRoot(["override", "http://a/", "--for", "1"])
        } throws: { error in
            let text = Program.message(for: error)
            return text.contains("found --for 1; expected a duration from 1 s to 365 days with its unit")
        }
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
