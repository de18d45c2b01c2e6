// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderProxy
import LarderSettings

/// Reads the file of `access.users`, and judges who else may.
///
/// A file that others can write to lets them in, and is refused. One that they can read lets them guess passwords at
/// leisure; that is a warning, and so is a file that this user cannot read, as the daemon's may be able to.
struct ConfiguredUsers {
    /// Nil when the file could not be read.
    private(set) var table: UserTable?
    private(set) var problems: [SettingsProblem] = []
    private(set) var warnings: [SettingsProblem] = []

    /// Larger files are refused.
    static let fileLimit = 1 << 20

    /// - Parameter place: of the setting, for what is wrong about the file as a whole.
    mutating func read(_ path: String, _ place: SourcePlace) {
        let file: (octets: [UInt8], status: stat)
        do throws(BoundedFile.Failure) {
            file = try BoundedFile.readWithStatus(path, limit: ConfiguredUsers.fileLimit, .regular)
        } catch {
            let problem = ConfiguredUsers.problem(
                at: place, found: "\(SettingsProblem.quoted(path)): \(error)", expected: "a file of users",
                advice: error == .missing ? "`larder user add NAME` makes it" : "check its name and permissions")
            if error == .denied { warnings.append(problem) } else { problems.append(problem) }
            return
        }
        judge(file.status, of: path, place)
        guard let text = String(validating: file.octets, as: UTF8.self) else {
            problems.append(
                ConfiguredUsers.problem(
                    at: .wholeFile(path), found: "an octet that is not UTF-8", expected: "names in UTF-8",
                    advice: "save the file in UTF-8"))
            return
        }
        let (table, refused) = UserFile(text).read()
        problems += refused.map { problem in
            ConfiguredUsers.problem(
                at: .file(path, line: problem.line, column: problem.column), found: problem.found,
                expected: problem.expected, advice: problem.advice)
        }
        for user in table.users where !Crypt.knows(user.hash) {
            problems.append(
                ConfiguredUsers.problem(
                    at: .wholeFile(path), found: "a hash by \(user.hash.method.rawValue), which this system lacks",
                    expected: "one that its crypt(3) knows", advice: "give \(user.name) a password by `larder user add`"
                ))
        }
        if table.users.isEmpty, refused.isEmpty {
            warnings.append(
                ConfiguredUsers.problem(
                    at: place, found: "\(SettingsProblem.quoted(path)), which has no users", expected: "at least one",
                    advice: "nobody is served; `larder user add NAME` adds one"))
        }
        self.table = table
    }

    private mutating func judge(_ status: stat, of path: String, _ place: SourcePlace) {
        let user = geteuid()
        if user != 0, status.st_uid != 0, status.st_uid != user {
            warnings.append(
                ConfiguredUsers.problem(
                    at: place,
                    found: "\(SettingsProblem.quoted(path)), which belongs to another user (\(status.st_uid))",
                    expected: "a file of root, or of the daemon's user", advice: "its owner can let anybody in"))
        }
        let found = "\(SettingsProblem.quoted(path)) with the mode \(FileMode(status.st_mode & 0o7777).text)"
        if status.st_mode & (S_IWGRP | S_IWOTH) != 0 {
            problems.append(
                ConfiguredUsers.problem(
                    at: place, found: found + ", which others can write to", expected: "a mode like `0600` or `0640`",
                    advice: "`chmod go-w \(path)`"))
        } else if status.st_mode & S_IROTH != 0 {
            warnings.append(
                ConfiguredUsers.problem(
                    at: place, found: found + ", which every user can read", expected: "a mode like `0600` or `0640`",
                    advice: "hashes help to guess passwords; `chmod o-r \(path)`"))
        }
    }

    private static func problem(
        at place: SourcePlace, found: String, expected: String, advice: String?
    )
        -> SettingsProblem
    {
        SettingsProblem(at: place, setting: "access.users", found: found, expected: expected, advice: advice)
    }
}
