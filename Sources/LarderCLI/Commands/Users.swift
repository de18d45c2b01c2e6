// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import LarderProxy
import LarderSettings

/// `larder user`
struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Say who may use the proxy: the users of `access.users`.",
        discussion: """
            The file is the configuration's, or that of --file. A running daemon reads it on `larder reload`; users who \
            are gone, or have another password, are not served from then on.
            """,
        subcommands: [AddUser.self, RemoveUser.self, ListUsers.self])
}

/// The file of users that a command is about.
struct UserFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The file of users (default: `access.users` of the configuration).", valueName: "file"),
        completion: .file())
    var file: String?

    @Option(
        help: ArgumentHelp("The configuration, as for `larder serve`.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if file != nil, config != nil { throw ValidationError("name one file: --file FILE or --config FILE") }
        if config == "-" { throw ValidationError("name the configuration's file: standard input is for the password") }
    }

    func users() throws -> StoredUsers {
        if let file { return StoredUsers(path: file) }
        var loader = options.loader(file: config)
        // It may be missing as yet.
        loader.readsUsers = false
        let loaded: SettingsLoader.Loaded
        do throws(SettingsProblems) {
            loaded = try loader.load()
        } catch {
            Terminal.writeError("\(error)")
            throw ExitCode.failure
        }
        guard let path = loaded.settings.access.users else {
            throw CommandFailure(
                loaded.file.map { "the configuration \($0) names no file of users" }
                    ?? "no configuration was read: there is no \(loaded.searched.joined(separator: ", and no "))",
                advice:
                    "name the daemon's with --config, set `access: { users: /etc/larder/users }` in it, or name the "
                    + "file of users with --file")
        }
        return StoredUsers(path: path)
    }
}

/// `larder user add`
struct AddUser: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a user, or give one another password.",
        discussion: """
            The password is asked for twice, or is one line of standard input where that is no terminal:

            larder user add anna
            openssl rand -base64 24 | tee anna.password | larder user add anna

            It is kept as a hash by yescrypt. A new file is for its owner alone; one that is there keeps its owner, group \
            and mode.
            """)

    @Argument(help: ArgumentHelp("The user.", valueName: "name"))
    var name: String

    @OptionGroup var users: UserFileOptions

    func validate() throws {
        if let refusal = UserTable.refusal(ofName: name) { throw ValidationError("found \(refusal); expected another") }
    }

    func run() throws {
        let stored = try users.users()
        let password = try PasswordPrompt.password(for: name)
        guard let hash = Crypt.hash(password) else {
            throw CommandFailure("crypt(3) of this system cannot make a hash by yescrypt")
        }
        var wasThere = false
        let isMade = try stored.change { file in
            wasThere = file.set(name, hash)
            return true
        }
        Terminal.write(
            "\(Outline.printable(name)) \(wasThere ? "has another password" : "was added") in "
                + "\(Outline.printable(stored.path)); `larder reload` has the daemon read it\n")
        if isMade, geteuid() == 0 {
            Terminal.writeError(
                "note: the file is root's alone; for a daemon of another user, as the package's: "
                    + "chgrp larder \(Outline.printable(stored.path)) && chmod 640 \(Outline.printable(stored.path))")
        }
    }
}

/// `larder user remove`
struct RemoveUser: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a user.")

    @Argument(help: ArgumentHelp("The user.", valueName: "name"))
    var name: String

    @OptionGroup var users: UserFileOptions

    func run() throws {
        let stored = try users.users()
        var wasThere = false
        try stored.change { file in
            wasThere = file.remove(name)
            return wasThere
        }
        guard wasThere else {
            Terminal.writeError("larder: no user is called \(SettingsProblem.quoted(name)) in \(stored.path)")
            throw ExitCode(CommandFailure.nothingMatched)
        }
        Terminal.write(
            "\(Outline.printable(name)) was removed from \(Outline.printable(stored.path)); "
                + "`larder reload` has the daemon read it\n")
    }
}

/// `larder user list`
struct ListUsers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the users, and by which method their passwords are kept.")

    @Flag(help: "Print the list as JSON.")
    var json = false

    @OptionGroup var users: UserFileOptions

    func run() throws {
        let stored = try users.users()
        guard let file = try stored.read() else {
            throw CommandFailure("there is no file \(stored.path)", advice: "`larder user add NAME` makes it")
        }
        let (table, problems) = file.read()
        if json {
            let list = table.users.map { user in
                ShownValue.map([("name", .text(user.name)), ("method", .text(user.hash.method.rawValue))])
            }
            Terminal.write(ShownValue.list(list).json + "\n")
        } else {
            let width = table.users.map(\.name.count).max() ?? 0
            for user in table.users {
                let padding = String(repeating: " ", count: width - user.name.count + 2)
                Terminal.write("\(Outline.printable(user.name))\(padding)\(user.hash.method.rawValue)\n")
            }
        }
        for problem in problems {
            let place = SourcePlace.file(stored.path, line: problem.line, column: problem.column)
            Terminal.writeError(
                "\(SettingsProblem(at: place, setting: "", found: problem.found, expected: problem.expected))")
        }
        if !problems.isEmpty { throw ExitCode.failure }
    }
}
