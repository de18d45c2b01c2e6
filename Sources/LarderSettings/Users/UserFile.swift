// SPDX-License-Identifier: Apache-2.0

/// The text of a file of users: lines `NAME:HASH`, empty lines, and comments, which begin with `#`.
///
/// A change preserves all other text.
package struct UserFile: Sendable {
    /// An error in a line. Never contains a hash, nor the text in the place of one.
    package struct Fault: Error, Sendable, Equatable {
        /// From 1.
        package let line: Int
        /// From 1, in characters.
        package let column: Int
        package let found: String
        package let expected: String
        package var advice: String?
    }

    /// Users beyond it are refused.
    package static let userLimit = 10_000

    private var lines: [Substring]

    package init(_ text: String) {
        // Some editors begin files with a byte order mark, which would be part of the first name.
        let text = text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? String(text.unicodeScalars.dropFirst()) : text
        lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { Substring($0) }
        if lines.last?.isEmpty == true { lines.removeLast() }
    }

    package var text: String { lines.map { $0 + "\n" }.joined() }

    // MARK: Reading

    /// The users, and all problems.
    package func read() -> (table: UserTable, problems: [Fault]) {
        var users: [UserTable.User] = []
        var places: [String: Int] = [:]
        var problems: [Fault] = []
        for (index, line) in lines.enumerated() where UserFile.isEntry(line) {
            do throws(Fault) {
                let user = try UserFile.user(in: line, number: index + 1)
                if let earlier = places[user.name] {
                    throw Fault(
                        line: index + 1, column: 1, found: "`\(user.name)` again",
                        expected: "each user once", advice: "line \(earlier) has the name already; remove one of them")
                }
                places[user.name] = index + 1
                users.append(user)
            } catch {
                problems.append(error)
            }
            guard users.count <= UserFile.userLimit else {
                problems.append(
                    Fault(
                        line: index + 1, column: 1, found: "more than \(UserFile.userLimit) users",
                        expected: "at most that many"))
                break
            }
        }
        return (UserTable(users), problems)
    }

    private static func user(in line: Substring, number: Int) throws(Fault) -> UserTable.User {
        let entry = line.trimmingEnd
        guard let colon = entry.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw Fault(
                line: number, column: 1, found: "a line without a colon", expected: "`NAME:HASH`",
                advice: "`larder user add NAME` writes such lines")
        }
        let name = String(entry[..<colon])
        if let refusal = UserTable.refusal(ofName: name) {
            throw Fault(line: number, column: 1, found: refusal, expected: "`NAME:HASH`")
        }
        let column = name.count + 2
        do throws(PasswordHash.Refusal) {
            return UserTable.User(name: name, hash: try PasswordHash(String(entry[entry.utf8.index(after: colon)...])))
        } catch {
            throw Fault(
                line: number, column: column, found: error.found, expected: "a hash by \(PasswordHash.Method.list)",
                advice: "`larder user add` makes one of the password")
        }
    }

    private static func isEntry(_ line: Substring) -> Bool {
        let start = line.utf8.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }
        return start != nil && start != UInt8(ascii: "#")
    }

    // MARK: Changing

    /// Gives a user a hash. Returns whether the user was there already.
    package mutating func set(_ name: String, _ hash: PasswordHash) -> Bool {
        let line = Substring("\(name):\(hash.text)")
        guard let place = place(of: name) else {
            lines.append(line)
            return false
        }
        lines[place] = line
        return true
    }

    /// Removes a user. Returns whether there was one.
    package mutating func remove(_ name: String) -> Bool {
        guard let place = place(of: name) else { return false }
        lines.remove(at: place)
        return true
    }

    private func place(of name: String) -> Int? {
        lines.firstIndex { line in
            guard UserFile.isEntry(line), let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
            return line[..<colon] == name
        }
    }
}

extension PasswordHash.Refusal {
    fileprivate var found: String {
        switch self {
        case .weak(let method): "a hash by \(method), which is guessed too quickly"
        case .costly(let method, let excess): "a hash by \(method.rawValue) with \(excess)"
        case .malformed(let method): "a damaged hash by \(method.rawValue)"
        case .unknown: "no hash that crypt(3) knows"
        }
    }
}

extension Substring {
    /// Without blanks and a carriage return at the end.
    fileprivate var trimmingEnd: Substring {
        var rest = self
        while let last = rest.utf8.last, last == 0x20 || last == 0x09 || last == 0x0D {
            rest = Substring(rest.unicodeScalars.dropLast())
        }
        return rest
    }
}
