// SPDX-License-Identifier: Apache-2.0

extension SettingsReference {
    /// The page `docs/configuration.md`: prose around tables of every setting.
    package static var markdown: String {
        [introduction, values, settings, swift, example].joined(separator: "\n")
    }

    /// The configuration file, and the options that name it.
    private static var introduction: String {
        """
        # Configuration

        The configuration is one YAML file; [`etc/larder.yaml`](../etc/larder.yaml) is the default one, with comments.
        Everything has a default, so an empty file is a configuration.

        ```console
        $ larder check larder.yaml        # is it right? if not: where, what was found, what was expected
        $ larder serve --config larder.yaml
        $ larder serve --set cache.memory='512 MiB' --set 'listen=["127.0.0.1:4000"]'
        ```

        `--set KEY=VALUE` overrides the file; KEY is a dotted path, VALUE is YAML. It can be repeated, so that a whole
        configuration fits on a command line.

        A key that is not in the lists below is refused, with the nearest name there is; so are wrong types, values out
        of bounds, the same key twice, and settings that contradict each other. `SIGHUP` (`systemctl reload larder`)
        reads the file again: a valid one is taken over without dropping a connection, an invalid one changes nothing
        and is explained in the log. A setting that needs a restart says so under *reload*.

        """
    }

    /// The notations of values.
    private static var values: String {
        """
        ## Values

        - **Durations** carry a unit: `500 ms`, `30 s`, `10 min`, `1 h`, `1 day`, `2 weeks`. `m` is refused: write
          `min`.
        - **Sizes** carry a unit: `64 KiB`, `256 MiB`, `10 GiB`; `kB`, `MB` and `GB` are powers of ten.
        - **Secrets and other texts from elsewhere**: `${NAME}` is the environment variable NAME, `${file:/path}` the
          content of a file without the newline at its end; a relative path is below `$CREDENTIALS_DIRECTORY`, and
          `$${` stands for `${` itself. They are read at the start and at each reload, and never printed back.
        - **Hosts** are names or addresses, with or without a port; `*.example.com` is every host below `example.com`.

        """
    }

    /// The tables of all settings.
    private static var settings: String {
        """
        ## Settings

        \(table(SettingsCatalogue.descriptions))

        ## Variables

        Below `variables.<name>`:

        \(table(SettingsCatalogue.variable.descriptions))

        ## Services

        Below `services.<name>`:

        \(table(SettingsCatalogue.service.descriptions))
        \(innerTables(SettingsCatalogue.service.descriptions.filter { $0.name != "configure" }))

        ## Blocks

        Below `services.<name>.configure`, a list. The conditions come first: a block is for the resources that all of
        its conditions accept, and for every resource of the service when it has none. Its settings are laid over those
        of earlier blocks; of `headers`, field by field.

        \(table(SettingsCatalogue.configure.descriptions))
        \(innerTables(SettingsCatalogue.configure.descriptions))

        """
    }

    /// The settings of services beside what a program says instead.
    private static var swift: String {
        let (service, block) = (SettingsCatalogue.service.descriptions, SettingsCatalogue.configure.descriptions)
        return """
            ## In Swift

            A service of a [daemon of your own](library.md#one-state-for-a-program-and-its-clients) says these in Swift.
            Durations are `Duration`s, and what is not said has the default of the file. All else is added by an entry
            of the same name below `services`, with its `baseURL`: it may have any setting, and wins over the program.
            `ignoreQuery` and `routes` of it are about the URLs that clients ask for: they do not change the URL of a
            program's `service.resource(…)`, nor which resource that is.

            The closures given to `configure`, mutators, decorators and hooks of decorated requests run on event loops
            and must not block: [what has to wait](library.md#what-has-to-wait) is done elsewhere.

            Of the service (`$0` is the configuration that the closure of `service.configure` changes):

            \(swiftTable(service))

            In the file alone: \(namesInFilesAlone(service)).

            Of a block:

            \(swiftTable(block))

            In the file alone: \(namesInFilesAlone(block)).

            In Swift alone: `$0.onAbandon`, for what is `timeouts.abandon` in the file; `$0.progressReportingInterval`;
            `$0.decorateRequests` and `$0.mutateRequests`, with whatever they do; `$0.pipeline[…].cacheUsing(…)`;
            transformers to types of your own.

            """
    }

    private static func swiftTable(_ settings: [SettingDescription]) -> String {
        let rows = settings.compactMap { setting in setting.inSwift.map { "| `\(setting.name)` | \($0) |" } }
        return (["| in the file | in Swift |", "|---|---|"] + rows).joined(separator: "\n")
    }

    private static func namesInFilesAlone(_ settings: [SettingDescription]) -> String {
        settings.filter { $0.inSwift == nil }.map { "`\($0.name)`" }.joined(separator: ", ")
    }

    /// A file with two services.
    private static var example: String {
        """
        ## An example

        ```yaml
        cache:
          disk: 50 GiB
        services:
          github:
            baseURL: https://api.github.com
            privacy: private                                   # one user's token: GitHub marks its answers `private`
            configure:
              - headers:
                  Authorization: Bearer ${GITHUB_TOKEN}
                  Accept: application/vnd.github+json
              - match: /users/*
                keepFor: 10 min                                # also where the origin names a shorter time
                retryTime: 30 s
              - match: /repos/*/*/releases/**
                keepFor: 1 h
                staleWhileRevalidate: 1 day
              - match: /search/**
                cache: none
          inventory:
            baseURL: http://inventory.internal:8080/v2
            mount: /stock/
            privacy: partitioned                               # one user's responses are not another's
        ```

        """
    }

    /// A table for each setting that is a map or a list of maps.
    private static func innerTables(_ settings: [SettingDescription]) -> String {
        settings.filter { !$0.inside.isEmpty }.map { setting in
            let all = flatten([setting], below: "")
            return "\nInside `\(setting.name)`:\n\n\(table(Array(all.dropFirst())))\n"
        }.joined()
    }

    private static func table(_ settings: [SettingDescription]) -> String {
        let rows = settings.map { setting in
            let bounds = setting.bounds.map { ": \($0)" } ?? ""
            let initially = setting.isInitiallyInWords ? setting.initially : "`\(setting.initially)`"
            let reload = setting.isReloadable ? "yes" : "restart"
            return "| `\(setting.name)` | \(setting.type)\(bounds) | \(initially) | \(reload) | \(setting.text) |"
        }
        return (["| setting | may be | default | reload | meaning |", "|---|---|---|---|---|"] + rows)
            .joined(separator: "\n")
    }
}
