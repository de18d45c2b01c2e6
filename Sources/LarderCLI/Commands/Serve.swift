// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import LarderSettings

/// The source of the configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.customLong("set")],
        help: ArgumentHelp(
            "A setting that wins over the file, as `--set cache.memory='64 MiB'`. The value is YAML.",
            valueName: "key=value"))
    var overrides: [String] = []

    /// The one file that is named by an argument or by `--config`.
    static func file(_ argument: String?, _ option: String?) throws -> String? {
        if argument != nil, option != nil { throw ValidationError("name one configuration: FILE or --config FILE") }
        return argument ?? option
    }

    func loader(file: String?, declaring services: [DeclaredService] = []) -> SettingsLoader {
        var loader = SettingsLoader(
            file: file == "-" ? "/dev/stdin" : file, overrides: overrides,
            environment: ProcessInfo.processInfo.environment)
        loader.declared = services
        return loader
    }
}

/// `larder serve`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the daemon.",
        discussion: """
            Without a file, ~/.config/larder/larder.yaml is read, else /etc/larder/larder.yaml (root reads that one only); \
            without any file the defaults hold. SIGHUP reads the configuration again, SIGTERM ends running exchanges and \
            stops. `larder settings` lists what can be set.
            """)

    @Argument(
        help: ArgumentHelp("The configuration.", valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
    var file: String?

    @Option(
        help: ArgumentHelp("The configuration, as an option.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Only say whether the configuration is valid.")
    var check = false

    func validate() throws {
        let file = try ConfigurationOptions.file(file, config)
        if file == "-", !check {
            throw ValidationError("the daemon reads its configuration again on reload: name a file in place of -")
        }
    }

    func run() async throws { try await run(declaring: []) }

    func run(declaring services: [DeclaredService]) async throws {
        let loader = options.loader(file: file ?? config, declaring: services)
        if check { return try Check.run(loader, show: false, json: false) }
        do {
            try await DaemonRunner.run(loader: loader)
        } catch let problems as SettingsProblems {
            Terminal.writeError("\(problems)")
            throw ExitCode.failure
        }
    }
}
