// SPDX-License-Identifier: Apache-2.0

/// The users of the proxy, by name (`access.users`).
package struct UserTable: Sendable, Equatable {
    package struct User: Sendable, Hashable {
        package let name: String
        package let hash: PasswordHash

        package init(name: String, hash: PasswordHash) {
            self.name = name
            self.hash = hash
        }
    }

    /// In the order of the file; names are unique.
    package let users: [User]
    private let byName: [String: User]

    package init(_ users: [User] = []) {
        self.users = users
        byName = Dictionary(users.map { ($0.name, $0) }) { first, _ in first }
    }

    package func user(named name: String) -> User? { byName[name] }

    /// The identity of the user with a name, which no certificate or address has.
    package static func identity(ofUser name: String) -> String { "name \(name)" }

    /// True if a user read earlier is still in the table, with the same name and password.
    package func holds(_ user: User) -> Bool { byName[user.name] == user }

    /// The hash with which the password of an unknown name is compared in vain, so that the time reveals no names: one
    /// of the others', always the same for a name.
    ///
    /// - Parameter number: a secret digest of the name.
    package func decoy(for number: UInt64) -> PasswordHash? {
        users.isEmpty ? UserTable.standIn : users[Int(number % UInt64(users.count))].hash
    }

    /// A hash of unknown random bytes, for a table without users.
    private static let standIn = try? PasswordHash(
        "$y$j9T$qr.zm8PcjPpraQgYaDPBC/$JZcZ06/g5PAa2PrOcVPbKQCIipBq/v3NZiFjzIsGWmD")

    /// Why a name cannot be a user's; nil if it can.
    package static func refusal(ofName name: String) -> String? {
        guard !name.isEmpty else { return "no name" }
        guard name.utf8.count <= nameLimit else { return "a name of more than \(nameLimit) octets" }
        guard !name.utf8.contains(UInt8(ascii: ":")) else { return "a name with a colon" }
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            return "a name with control characters"
        }
        guard name.utf8.first != UInt8(ascii: "#") else { return "a name that begins like a comment" }
        guard name.utf8.first != 0x20, name.utf8.last != 0x20 else { return "a name with a blank at its end" }
        guard !name.hasPrefix("lane-") else { return "a name that begins with `lane-`, as those of lanes do" }
        return nil
    }

    private static let nameLimit = 128
}
