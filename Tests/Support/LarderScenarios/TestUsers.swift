// SPDX-License-Identifier: Apache-2.0
package import LarderSettings

/// Users of the tests: their passwords are flour, salt and yeast, kept by a method that is quick enough here.
package enum TestUsers {
    package static let anna = user(
        "anna", "$5$rounds=1000$AEZ64zJNmMs1hRCs$F8kEOJSyrZVOIQ3bUaNPGvYATE/sB2EQbL4XpeYgEy8")
    package static let ben = user("ben", "$5$rounds=1000$LlT4YnhYxfThKWBD$mUQvQTwgNFCGdSxzDvoWUj9cwMXLXCjYp9YoEUZXqK8")
    /// Anna with the password yeast.
    package static let changedAnna = user(
        "anna", "$5$rounds=1000$BSFhKJcBXFUeMLqN$jtH2Ktz/3Z6qowup7xHPgxmvcOWsq65at9ujH29tHJ2")

    private static func user(_ name: String, _ hash: String) -> UserTable.User {
        // A literal.
        UserTable.User(name: name, hash: try! PasswordHash(hash))
    }
}
