// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderIO
import LarderProxy
import LarderSettings
import LarderStores
import LarderTransformers

/// Checks that the files and programs named in a configuration exist.
///
/// Without its certificates the daemon cannot start, so missing ones are problems. A program may be installed later: it
/// is a warning, as is a file that only this user cannot read.
struct ConfiguredFiles {
    private(set) var problems: [SettingsProblem] = []
    private(set) var warnings: [SettingsProblem] = []
    /// Pipes and the like in place of files: to read them could take for ever.
    private(set) var unreadable: [SettingsProblem] = []
    private let reader: SettingsReader

    /// - Parameter places: the paths of what the daemon makes where the configuration names them, by their settings.
    init(_ settings: Settings, _ reader: SettingsReader, places: [String: String]) {
        self.reader = reader
        for (setting, path) in places.sorted(by: { $0.key < $1.key }) { checkPlace(path, setting) }
        checkGroup(settings.admin.socketGroup)
        checkFile(settings.upstream.caFile, "upstream.caFile")
        if !settings.tls.listen.isEmpty {
            checkFile(settings.tls.certificate, "tls.certificate")
            checkFile(settings.tls.key, "tls.key")
            checkFile(settings.tls.clientCA, "tls.clientCA")
            for identity in settings.tls.certificates {
                checkFile(identity.certificate, "tls.certificates")
                checkFile(identity.key, "tls.certificates")
            }
        }
        checkFile(settings.sharedCache.caFile, "sharedCache.tls.caFile")
        checkAccessFile(settings.log.accessFile)
        for service in settings.services {
            let setting = "services.\(service.name)"
            checkFile(service.tls.caFile, setting + ".tls.caFile")
            checkFile(service.tls.certificate, setting + ".tls.certificate")
            checkFile(service.tls.key, setting + ".tls.key")
            for (index, block) in service.configure.enumerated() {
                if let program = block.onChange?.value?.exec.first?.text {
                    checkProgram(
                        program, "\(setting).configure[\(index)].onChange.exec",
                        advice: "until it is there, nobody is told of changes")
                }
                for stage in block.pipeline?.stages ?? [] {
                    for transformer in stage.add {
                        guard let program = transformer.exec?.program.command.arguments.first else { continue }
                        checkProgram(program, "\(setting).configure[\(index)].pipeline.\(stage.key.name)")
                    }
                }
            }
        }
        // To read a pipe could take for ever.
        if unreadable.isEmpty { checkTLS(settings) }
    }

    private mutating func checkFile(_ path: String?, _ setting: String) {
        guard let path else { return }
        if BoundedFile.isNoFile(path) {
            return unreadable.append(
                finding(
                    setting, path, ": \(BoundedFile.Failure.notAFile)",
                    expected: "a PEM file", advice: "check its name"))
        }
        guard access(path, R_OK) != 0 else { return }
        let code = errno
        let problem = finding(
            setting, path, ": \(BoundedFile.Failure(code: code))",
            expected: "a PEM file that the daemon may read", advice: "check its name and permissions")
        if code == EACCES || code == EPERM { warnings.append(problem) } else { problems.append(problem) }
    }

    /// The place of a file that the daemon makes. Another user may be able to.
    private mutating func checkPlace(_ path: String, _ setting: String) {
        let isDirectory = access(path + "/.", F_OK) == 0
        // The database's path, whose directory is Larder's.
        let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
        if setting == "cache.path", let stranger = StorePlace.stranger(in: directory) {
            return problems.append(
                finding(
                    setting, directory, ", which is not Larder's: \(stranger) is in it",
                    expected: "a directory that is empty, or not there yet",
                    advice: "name one of its own, as `\(directory)/larder`; the daemon cannot start"))
        }
        guard let obstacle = DefaultPaths.obstacle(to: isDirectory ? path + "/larder.db" : path) else { return }
        let isDenied = [EACCES, EPERM, EROFS].contains(obstacle.code)
        let why =
            switch obstacle.code {
            case EACCES, EPERM: "is not this user's to write to"
            case EROFS: "is on a file system that is read-only"
            default: "cannot be used: \(String(cString: strerror(obstacle.code)))"
            }
        let problem = finding(
            setting, path, ", while \(obstacle.path) \(why)",
            expected: "a path where the daemon's user may write",
            advice: obstacle.code == EROFS ? "the daemon cannot start" : "the daemon cannot start as this user")
        if isDenied { warnings.append(problem) } else { problems.append(problem) }
    }

    private mutating func checkGroup(_ name: String?) {
        guard let name else { return }
        let setting = "admin.socketGroup"
        guard let number = try? UserGroup.number(name) else {
            return problems.append(
                finding(
                    setting, name, ", which this machine does not have",
                    expected: "a group", advice: "make it (`sudo groupadd --system \(name)`), or name another"))
        }
        guard geteuid() != 0, !UserGroup.own.contains(number) else { return }
        warnings.append(
            finding(
                setting, name, ", which this user is no member of",
                expected: "a group of the daemon's user", advice: "the daemon cannot start as this user"))
    }

    private mutating func checkProgram(
        _ path: String, _ setting: String, advice: String = "until it is there, clients get errors for what it is for"
    ) {
        guard access(path, X_OK) != 0 else { return }
        let isThere = access(path, F_OK) == 0
        warnings.append(
            finding(
                setting, path, ", which \(isThere ? "cannot be run" : "is not there")",
                expected: "the path of a program", advice: advice))
    }

    /// A file with which the daemon does not start.
    mutating func noteUnusable(_ path: String, _ setting: String, _ found: String) {
        problems.append(
            finding(
                setting, path, ": \(found)", expected: "a PEM file",
                advice: "the daemon cannot start"))
    }

    /// The daemon makes the file, but not its directory.
    private mutating func checkAccessFile(_ path: String?) {
        guard let path else { return }
        let directory = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let isThere = access(path, F_OK) == 0
        let isDirectory = access(path + "/.", F_OK) == 0
        guard isDirectory || access(isThere ? path : directory, isThere ? W_OK : W_OK | X_OK) != 0 else { return }
        let code = isDirectory ? EISDIR : errno
        let problem = finding(
            "log.accessFile", path, ": cannot write \(path): \(String(cString: strerror(code)))",
            expected: "a file that the daemon's user may write",
            advice: "make its directory, or name another place")
        if [EACCES, EPERM, EROFS].contains(code) { warnings.append(problem) } else { problems.append(problem) }
    }

    private func finding(
        _ setting: String, _ value: String, _ found: String, expected: String, advice: String
    ) -> SettingsProblem {
        SettingsProblem(
            at: reader.place(of: setting), setting: setting, found: SettingsProblem.quoted(value) + found,
            expected: expected, advice: advice)
    }
}
