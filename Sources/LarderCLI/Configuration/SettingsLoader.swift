// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
package import LarderSettings
import LarderUpstream

/// Reads the configuration: at start, for a check, and on every reload.
package struct SettingsLoader: Sendable {
    /// The file given on the command line; without one the first of the usual files that exists is read.
    package var file: String?
    /// `KEY=VALUE`; later ones override earlier ones, and all of them the file.
    package var overrides: [String]
    package var environment: [String: String]
    /// Services that exist with any configuration file.
    package var declared: [DeclaredService] = []
    /// The usual files, if they are not the standard ones: when no file is named, the first that exists is read.
    var usualFiles: [String]?
    var user: uid_t = getuid()
    /// True if the file of users is read too; the command that makes it does without.
    var readsUsers = true

    /// Larger files are refused.
    static let fileLimit = 1 << 20

    package init(file: String?, overrides: [String], environment: [String: String]) {
        self.file = file
        self.overrides = overrides
        self.environment = environment
    }

    /// The result: all `automatic` values replaced, nothing left to look up.
    package struct Loaded: Sendable {
        package var settings: Settings
        /// The file that was read, or nil when there was none.
        package var file: String?
        /// The paths at which the file was looked for, if none was given.
        package var searched: [String]
        /// Information for people that is not a problem.
        package var notes: [String]
        /// Valid settings that cannot work.
        package var warnings: [SettingsProblem]
        /// Missing files without which the daemon cannot start here and now.
        package var absent: [SettingsProblem]
    }

    /// Reads everything, or throws every problem found, up to a bound.
    package func load() throws(SettingsProblems) -> Loaded {
        var problems: [SettingsProblem] = []
        var notes: [String] = []
        var references = SecretReferences(environment: environment)
        let (path, text) = try readFile()

        var tree: SettingNode?
        var isYAML = true
        if let path, let text {
            var document = YAMLDocument(source: .file(path), references: references)
            tree = document.read(text)
            problems += document.problems
            references = document.references
            isYAML = tree != nil || document.problems.isEmpty
        }
        for override in overrides {
            guard let override = SettingsOverride(override, references: references, problems: &problems) else {
                continue
            }
            references.variables.formUnion(override.declaredVariables)
            tree = override.applied(to: tree, problems: &problems)
        }

        let written = declaring(in: tree)
        tree = expandingPresets(in: written, &problems)

        // Settings missing from a file that is not YAML are not reported.
        var reader = SettingsReader()
        var settings = isYAML ? SettingsCatalogue.read(tree, &reader) : Settings()
        let origins = PresetOrigins(written: written, expanded: tree)
        problems = problems.map { reader.named($0).map(origins.asWritten) ?? $0 }
        problems += reader.problems.map(origins.asWritten)
        declare(in: &settings)
        problems += namesakes
        settings.upstream.environment = ProxyRules(
            environment: usesEnvironment(settings) ? environment : [:], listening: settings.listen,
            problems: &problems, notes: &notes)
        let places = ["cache.path": settings.cache.path.path, "admin.socket": settings.admin.socket.path]
        replaceAutomatic(&settings, &problems)
        for index in settings.variables.indices {
            settings.variables[index].read(references, reader, &problems)
        }

        var users = ConfiguredUsers()
        if readsUsers, let path = settings.access.users { users.read(path, reader.place(of: "access.users")) }
        settings.access.userTable = users.table
        problems += users.problems

        let files = ConfiguredFiles(settings, reader, places: places.compactMapValues(\.self))
        problems += files.unreadable.map(origins.asWritten)
        let warnings = reader.warnings + files.warnings + users.warnings + Preset.unusedLifetimes(settings, reader)
        let loaded = Loaded(
            settings: settings, file: path, searched: searched, notes: notes,
            warnings: warnings.map(origins.asWritten).inOrder, absent: files.problems.map(origins.asWritten))
        if !problems.isEmpty { throw SettingsProblems(problems, omitted: reader.omitted, in: loaded) }
        return loaded
    }

    /// The paths at which a file is looked for when none is given.
    var searched: [String] {
        file == nil ? usualFiles ?? DefaultPaths(environment: environment, user: user).configurations : []
    }

    /// The path in `admin.socket` of the file, even if other settings of the file are invalid; nil for the usual path.
    func namedSocket() throws -> String? {
        let (path, text) = try readFile()
        var document = YAMLDocument(
            source: .file(path ?? ""), references: SecretReferences(environment: environment))
        guard let tree = text.flatMap({ document.read($0) }) else {
            if document.problems.isEmpty { return nil }
            throw SettingsProblems(document.problems)
        }
        let socket = tree["admin"]?["socket"]?.text
        guard socket != "none" else {
            throw CommandFailure("\(path ?? "the configuration") says `admin.socket: none`", advice: "use `--url`")
        }
        return socket == "automatic" ? nil : socket
    }

    private func readFile() throws(SettingsProblems) -> (path: String?, text: String?) {
        for path in file.map({ [$0] }) ?? searched {
            if let text = try read(path) { return (path, text) }
        }
        return (nil, nil)
    }

    /// The text of a file; nil if it is not there and need not be.
    private func read(_ path: String) throws(SettingsProblems) -> String? {
        let bytes: [UInt8]
        do throws(BoundedFile.Failure) {
            bytes = try BoundedFile.read(path, limit: SettingsLoader.fileLimit, .promptPipe)
        } catch {
            if file == nil, error == .missing { return nil }
            throw SettingsProblems([
                SettingsProblem(
                    at: .wholeFile(path), setting: "", found: "a file that cannot be read: \(error)",
                    expected: "a configuration in YAML", advice: advice(against: error))
            ])
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let (line, column) = bytes.firstInvalidUTF8
            throw SettingsProblems([
                SettingsProblem(
                    at: .file(path, line: line, column: column), setting: "", found: "an octet that is not UTF-8",
                    expected: "YAML in UTF-8", advice: "save the file in UTF-8")
            ])
        }
        return text
    }

    private func advice(against failure: BoundedFile.Failure) -> String? {
        switch failure {
        case .tooLarge: nil
        case .missing: file == nil ? "name another with `--config FILE`" : "check its name"
        case .silent: "write to it, or name a file with `--config FILE`"
        case .notAFile where file != nil: "name the file itself"
        case .denied, .notAFile, .other: file == nil ? "name another with `--config FILE`" : "check its permissions"
        }
    }

    private func usesEnvironment(_ settings: Settings) -> Bool {
        settings.upstream.parent == .environment || settings.services.contains { $0.parent == .environment }
    }

    private func replaceAutomatic(_ settings: inout Settings, _ problems: inout [SettingsProblem]) {
        let paths = DefaultPaths(environment: environment, user: user)
        if settings.admin.socket == .automatic { settings.admin.socket = .path(paths.socket) }
        if settings.cache.path == .automatic {
            if let path = paths.database {
                settings.cache.path = .path(path)
            } else {
                problems.append(
                    SettingsProblem(
                        at: .nowhere, setting: "cache.path",
                        found: "no place for the cache, because neither STATE_DIRECTORY nor HOME is set",
                        expected: "an absolute path", advice: "set `cache.path`, or `cache.path: none` for none"))
            }
        }
    }
}

extension SettingsProblems {
    /// All that is wrong with a configuration, up to a bound.
    fileprivate init(_ problems: [SettingsProblem], omitted: Int, in loaded: SettingsLoader.Loaded) {
        let all = (problems + loaded.absent).inOrder
        let kept = all.prefix(SettingsReader.problemLimit)
        self.init(Array(kept), omitted: all.count - kept.count + omitted, warnings: loaded.warnings)
    }
}

extension [SettingsProblem] {
    /// The file's problems by line and column, then the other problems in their order.
    fileprivate var inOrder: [SettingsProblem] {
        enumerated().sorted { a, b in
            switch (a.element.place, b.element.place) {
            case (.file(_, let line, let column), .file(_, let otherLine, let otherColumn)):
                (line, column, a.offset) < (otherLine, otherColumn, b.offset)
            case (.file, _): true
            case (_, .file): false
            default: a.offset < b.offset
            }
        }.map(\.element)
    }
}

extension [UInt8] {
    /// Line and column of the first byte of invalid UTF-8.
    fileprivate var firstInvalidUTF8: (line: Int, column: Int) {
        var line = 1
        var column = 1
        var decoder = UTF8()
        var bytes = makeIterator()
        while case .scalarValue(let scalar) = decoder.decode(&bytes) {
            if scalar == "\n" {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
        return (line, column)
    }
}
