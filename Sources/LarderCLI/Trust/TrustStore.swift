// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LarderIO

/// A place where programs look for trusted authorities, and how to add and remove one.
struct TrustStore: Equatable {
    enum Kind: Equatable {
        /// A directory of certificates, and the command that builds bundles of them.
        case system(directory: String, command: [String])
        /// A database of NSS: Chromium, Firefox.
        case nss(directory: String)
    }

    let kind: Kind

    /// The places of this machine and this user that exist.
    ///
    /// - Parameter home: the user's home directory.
    static func found(home: String?) -> [TrustStore] {
        var stores: [TrustStore] = []
        let systems = [
            ("/usr/local/share/ca-certificates", ["update-ca-certificates"]),
            ("/etc/pki/ca-trust/source/anchors", ["update-ca-trust", "extract"]),
            ("/etc/ca-certificates/trust-source/anchors", ["trust", "extract-compat"]),
        ]
        if let system = systems.first(where: { isDirectory($0.0) }) {
            stores.append(TrustStore(kind: .system(directory: system.0, command: system.1)))
        }
        guard let home else { return stores }
        var databases = [home + "/.pki/nssdb"]
        for profiles in [home + "/.mozilla/firefox", home + "/snap/firefox/common/.mozilla/firefox"] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: profiles)) ?? []
            databases += names.sorted().map { "\(profiles)/\($0)" }
        }
        for directory in databases where access(directory + "/cert9.db", F_OK) == 0 {
            stores.append(TrustStore(kind: .nss(directory: directory)))
        }
        return stores
    }

    /// For people.
    var name: String {
        switch kind {
        case .system(let directory, _): "the system's store (\(directory))"
        case .nss(let directory): "the browser's database in \(directory)"
        }
    }

    /// The steps, in order; the first failure ends them.
    enum Step: Equatable {
        case copy(from: String, to: String)
        case remove(String)
        case run([String])
    }

    /// The steps that install the certificate in `file` under the given name.
    func installing(_ file: String, as name: String) -> [Step] {
        switch kind {
        case .system(let directory, let command):
            [.copy(from: file, to: "\(directory)/\(name).crt"), .run(command)]
        case .nss(let directory):
            // Trusted for servers, and for nothing else.
            [.run(["certutil", "-A", "-d", "sql:\(directory)", "-t", "C,,", "-n", name, "-i", file])]
        }
    }

    /// The steps that remove the entries of these names.
    func removing(_ names: [String]) -> [Step] {
        guard !names.isEmpty else { return [] }
        switch kind {
        case .system(let directory, let command):
            // Debian's program leaves links to what is gone unless it begins anew.
            let fresh = command == ["update-ca-certificates"] ? ["--fresh"] : []
            return names.map { .remove("\(directory)/\($0).crt") } + [.run(command + fresh)]
        case .nss(let directory):
            return names.map { .run(["certutil", "-D", "-d", "sql:\(directory)", "-n", $0]) }
        }
    }

    /// The entries of one authority in a store.
    struct Holdings {
        /// The names of entries for its key: each time it was renewed, it got another name.
        var names: [String] = []
        /// The names of other entries of Larder's: another CA's, as an earlier one's or another daemon's.
        var others: [String] = []
        /// Why entries of Larder's could not be read: they may be of that key or of another.
        var unread: [TrustSteps.Failure] = []
    }

    /// True if a database may have entries of Larder's: their names stand in it as they are.
    private static func mentionsLarder(_ path: String) -> Bool {
        guard let octets = try? Data(contentsOf: URL(filePath: path)) else { return true }
        return octets.contains(LocalCA.namePrefix.utf8)
    }

    /// Larder's entries for the key of a certificate.
    ///
    /// - Parameters:
    ///   - certificate: in PEM.
    ///   - certutil: the program that reads databases.
    func holdings(ofKeyIn certificate: String, certutil: String = "certutil") throws(TrustSteps.Failure) -> Holdings {
        let all: [String]
        let content: (String) throws(TrustSteps.Failure) -> String?
        switch kind {
        case .system(let directory, _):
            do {
                all = try FileManager.default.contentsOfDirectory(atPath: directory)
                    .filter { $0.hasSuffix(".crt") }.map { String($0.dropLast(4)) }
            } catch {
                throw TrustSteps.Failure(
                    reason: "\(directory) cannot be read", line: TrustSteps.line(.run(["ls", directory])))
            }
            content = { name throws(TrustSteps.Failure) in try TrustStore.file("\(directory)/\(name).crt") }
        case .nss(let directory):
            let list = [certutil, "-L", "-d", "sql:\(directory)"]
            let names: String
            do throws(TrustSteps.Failure) {
                names = try TrustSteps.output(of: list)
            } catch {
                // certutil is not needed for a browser without certificates of Larder's.
                guard TrustStore.mentionsLarder("\(directory)/cert9.db") else { return Holdings() }
                throw error
            }
            // A nickname is followed by what it is trusted for. Larder's have no blanks.
            all = names.split(separator: "\n").compactMap { line in
                line.split(separator: " ").first.map(String.init)
            }
            content = { name throws(TrustSteps.Failure) in try TrustSteps.output(of: list + ["-n", name, "-a"]) }
        }
        var holdings = Holdings()
        for name in Set(all).sorted() where name.hasPrefix(LocalCA.namePrefix) {
            do throws(TrustSteps.Failure) {
                guard let text = try content(name) else { continue }
                if LocalAuthority.haveSameKey(text, certificate) {
                    holdings.names.append(name)
                } else {
                    holdings.others.append(name)
                }
            } catch {
                holdings.unread.append(error)
            }
        }
        return holdings
    }

    /// A certificate's file; nil where it is gone by now.
    private static func file(_ path: String) throws(TrustSteps.Failure) -> String? {
        do {
            return String(decoding: try BoundedFile.read(path, limit: 64 << 10, .regular), as: UTF8.self)
        } catch .missing {
            return nil
        } catch {
            // Certificates are no secrets. Where that is not what is wrong, it is for a person to look at.
            let command = error == .denied ? ["chmod", "a+r"] : ["ls", "-ld"]
            throw TrustSteps.Failure(reason: "\(path): \(error)", line: TrustSteps.line(.run(command + [path])))
        }
    }

    /// Shell commands that list Larder's entries, and remove the entries that a person selects.
    var linesByHand: [String] {
        let anyName = LocalCA.namePrefix + "NAME"
        let remove = removing([anyName]).map(TrustSteps.line).joined(separator: " && ")
        switch kind {
        case .system(let directory, _): return ["ls \(directory)/\(LocalCA.namePrefix)*", remove]
        case .nss(let directory): return [TrustSteps.line(.run(["certutil", "-L", "-d", "sql:\(directory)"])), remove]
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

/// Executes the steps of trust stores, as root where necessary.
struct TrustSteps {
    /// True if commands may ask for a password by sudo.
    var mayAsk: Bool

    /// Why a step failed, with the line to run it and those after it by hand.
    struct Failure: Error {
        let reason: String
        let line: String
    }

    func perform(_ steps: [TrustStore.Step]) throws(Failure) {
        for (index, step) in steps.enumerated() {
            guard let reason = obstacle(to: step) else { continue }
            throw Failure(reason: reason, line: steps[index...].map(TrustSteps.line).joined(separator: " && "))
        }
    }

    /// The step as a line for a shell.
    static func line(_ step: TrustStore.Step) -> String {
        switch step {
        case .copy(let from, let to): "sudo cp \(quoted(from)) \(quoted(to))"
        case .remove(let file): "sudo rm \(quoted(file))"
        case .run(let command):
            (command[0] == "certutil" ? "" : "sudo ") + command.map(quoted).joined(separator: " ")
        }
    }

    /// Carries out a step; returns why it failed, nil if it did not.
    private func obstacle(to step: TrustStore.Step) -> String? {
        switch step {
        case .copy(let from, let to):
            do {
                try WrittenFile.write(try BoundedFile.read(from, limit: 64 << 10), to: to)
                return chmod(to, 0o644) == 0 ? nil : "\(to): \(String(cString: strerror(errno)))"
            } catch {
                return asRoot(["install", "-m", "0644", from, to], because: "\(to): \(error)")
            }
        case .remove(let file):
            if unlink(file) == 0 { return nil }
            return asRoot(["rm", "-f", file], because: "\(file): \(String(cString: strerror(errno)))")
        case .run(let command):
            if command[0] == "certutil" || geteuid() == 0 { return TrustSteps.run(command) }
            return asRoot(command, because: "\(command[0]) takes root")
        }
    }

    /// The same as root, where somebody is there to be asked for a password.
    private func asRoot(_ command: [String], because reason: String) -> String? {
        if geteuid() == 0 { return reason }
        guard mayAsk else { return "\(reason), and without a terminal `sudo` is not asked" }
        return TrustSteps.run(["sudo", "--"] + command).map { "\(reason), and \($0)" }
    }

    /// Runs a command with this process's standard input and error; its output is not shown. Returns why it failed, nil
    /// if it did not.
    static func run(_ command: [String]) -> String? {
        switch SpawnedCommand.start(command, isSilent: true) {
        case .failure(let failure): return obstacle(to: command[0], failure.code)
        case .success(let process):
            let status = SpawnedCommand.wait(for: process)
            return status == 0 ? nil : "`\(command.joined(separator: " "))` ended with \(status)"
        }
    }

    /// Runs a command, and returns its output.
    static func output(of command: [String]) throws(Failure) -> String {
        let reason: String
        do {
            let output = try ScratchFile([])
            switch SpawnedCommand.start(command, output: output.descriptor) {
            case .failure(let failure):
                reason = obstacle(to: command[0], failure.code)
            case .success(let process):
                let status = SpawnedCommand.wait(for: process)
                if status == 0 { return String(decoding: try output.octets(), as: UTF8.self) }
                reason = "`\(command.joined(separator: " "))` ended with \(status)"
            }
        } catch {
            reason = "\(error)"
        }
        throw Failure(reason: reason, line: line(.run(command)))
    }

    /// Why a program does not run.
    private static func obstacle(to program: String, _ code: Int32) -> String {
        let isMissing = program == "certutil" && code == ENOENT
        return "\(program) cannot be run: \(String(cString: strerror(code)))"
            + (isMissing ? " (its package is libnss3-tools or nss-tools)" : "")
    }

    private static func quoted(_ text: String) -> String {
        let plain = text.utf8.allSatisfy { octet in
            (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
                || "/.-_:,=+".utf8.contains(octet)
        }
        return plain && !text.isEmpty ? text : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
