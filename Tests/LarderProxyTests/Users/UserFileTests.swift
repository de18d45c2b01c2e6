// SPDX-License-Identifier: Apache-2.0

import LarderTesting
import Testing

@testable import LarderProxy
@testable import LarderSettings

@Suite("The file of users")
struct UserFileTests {
    /// All of the password flour, as crypt(3) of Debian 12 made them.
    static let hashes: [(PasswordHash.Method, String)] = [
        (.yescrypt, "$y$j75$RJHpvGVFUF6v6aNgk/9Mx/$0vcikAPhZe6BDf69cIYFZg1qfhP4DCUQAj68dKnAU36"),
        (.gostYescrypt, "$gy$j75$EvIsMIUqNHOl0D0eVKcWP1$dv3YebbLBDYkzmsgtc9QzE7lHqzgbhYzGKHZF6A93p5"),
        (.scrypt, "$7$BU..../....603YTbMdIXdUin1XhxODk/$vnFuh7FkFArO1JEmyeqSybX9RopWhNmNK07w7kXgMr3"),
        (.bcrypt, "$2b$04$Y0Z6P2W..QyUR4EHL7SqxeqUMXllpP.NMKw160OOSzsuN7rIafrny"),
        (.bcrypt, "$2y$04$XQ06BTfoR8HygDFu.xVxyuIHd6.WqwFpO6A6F9Rg5qaxn7rtuDkcW"),
        (
            .sha512,
            "$6$rounds=1000$.DLV0Wiwbq6pbnXX$G7EIFaooEEu9YXICih655BsrHQb9bCaEKQLfafKzWhaK6xHAVe.c0JeWmbee8N0lz.suitkptaFkE4yKMhPns0"
        ),
        (.sha256, "$5$E0drPhqikrLuS.YP$qtP8tGXwmkp8//8f0XI5jZKJnAy74vTmIhWW4t35qO7"),
    ]

    @Test(arguments: hashes)
    func `hashes by strong methods are read, and match their password alone`(
        method: PasswordHash.Method, text: String
    ) throws {
        let hash = try PasswordHash(text)
        #expect(hash.method == method)
        #expect(Crypt.knows(hash))
        #expect(Crypt.matches("flour", hash))
        for wrong in ["", "Flour", "flour ", "flou"] { #expect(!Crypt.matches(wrong, hash)) }
        #expect(!"\(hash) \(String(reflecting: hash)) \([hash])".contains(text.suffix(20)), "it shows itself")
        // Cut or extended it is none of them.
        for damaged in [String(text.dropLast()), text + "x", text + ":", text.replacing("$", with: "")] {
            #expect(throws: PasswordHash.Refusal.self) { try PasswordHash(damaged) }
        }
    }

    @Test(
        arguments: [
            ("$1$salt$qJH7.N4xYta3aEG/dfqo/0", .weak("MD5")), ("$apr1$z$WbqQ.Q0.KqH9yjrXKCSCH1", .weak("MD5")),
            ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", .weak("SHA-1")), ("rEK1ecacw.7.c", .weak("DES")),
            ("$2a$04$Y0Z6P2W..QyUR4EHL7SqxeqUMXllpP.NMKw160OOSzsuN7rIafrny", .weak("an early bcrypt")),
            ("$5$salt", .malformed(.sha256)), ("$6$$x", .malformed(.sha512)), ("$y$j9T$salt$", .malformed(.yescrypt)),
            ("$y$", .malformed(.yescrypt)), ("$2b$4$", .malformed(.bcrypt)), ("", .unknown), ("flour", .unknown),
            ("*", .unknown), ("!", .unknown), ("{PLAIN}flour", .unknown), ("$argon2id$v=19$m=1$a$b", .unknown),
        ] as [(String, PasswordHash.Refusal)])
    func `weak, damaged and unknown ones are refused by name`(text: String, refusal: PasswordHash.Refusal) {
        #expect(throws: refusal) { try PasswordHash(text) }
    }

    /// Those of crypt_gensalt(3), of the least and the largest cost that is taken, and beyond.
    @Test(
        arguments: [
            ("$6$", .rounds(5_000), true), ("$5$rounds=5000000$", .rounds(5_000_000), true),
            ("$6$rounds=5000001$", .rounds(5_000_001), false), ("$6$rounds=999999999$", .rounds(999_999_999), false),
            ("$2b$04$", .exponent(4), true), ("$2y$14$", .exponent(14), true), ("$2b$15$", .exponent(15), false),
            ("$2b$31$", .exponent(31), false), ("$7$BU..../....", .blocks(1 << 18), true),
            ("$7$EU..../....", .blocks(1 << 21), true), ("$7$FU..../....", .blocks(1 << 22), false),
            ("$7$BU....E....", .blocks(1 << 22), false), ("$7$zzzzzzzzzzz", .blocks(.max), false),
            ("$y$j75$", .blocks(1 << 13), true), ("$y$j9T$", .blocks(1 << 17), true),
            ("$y$jDT$", .blocks(1 << 21), true),
            ("$gy$jET$", .blocks(1 << 22), false), ("$y$j9T0E.$", .blocks(131_072 * 36), false),
            ("$y$j9T/.$", .blocks(131_072 * 2), true),
        ] as [(String, PasswordHash.Cost, Bool)])
    func `a hash that takes too long to compare is refused`(
        setting: String, cost: PasswordHash.Cost, isTaken: Bool
    ) throws {
        let ends = ["$2": String(repeating: "a", count: 53), "$6": "salt$" + String(repeating: "a", count: 86)]
        let text = setting + (ends[String(setting.prefix(2))] ?? "salt$" + String(repeating: "a", count: 43))
        let whole = setting.hasPrefix("$7") ? setting + "$" + String(repeating: "a", count: 43) : text
        let hash = try? PasswordHash(whole)
        #expect((hash != nil) == isTaken, "\(whole)")
        if let method = [
            "$6": PasswordHash.Method.sha512, "$5": .sha256, "$2": .bcrypt, "$7": .scrypt, "$y": .yescrypt,
            "$g": .gostYescrypt,
        ][String(setting.prefix(2))] {
            #expect(PasswordHash.Cost(of: whole, method) == cost)
        }
    }

    @Test func `a hash by yescrypt can be made, each with its own salt`() throws {
        let (one, other) = (try #require(Crypt.hash("pässwörd")), try #require(Crypt.hash("pässwörd")))
        #expect(one.method == .yescrypt && one != other)
        #expect(Crypt.matches("pässwörd", one) && Crypt.matches("pässwörd", other))
        #expect(Crypt.hash(String(repeating: "x", count: 512)) == nil)
    }

    private let entry = "anna:" + hashes[6].1

    @Test func `lines are users, comments or empty`() {
        let (table, problems) = UserFile("# team\n\n  \t\n\(entry)  \r\n   # more\nb c:\(Self.hashes[0].1)\n").read()
        #expect(problems.isEmpty)
        #expect(table.users.map(\.name) == ["anna", "b c"])
        #expect(table.user(named: "anna")?.hash.method == .sha256)
        #expect(table.user(named: "Anna") == nil)
        #expect(UserFile("").read().table == UserTable())
        #expect(UserFile("\u{FEFF}\(entry)\n").read().table.users.map(\.name) == ["anna"])
    }

    @Test(arguments: [
        ("anna", 1, "a line without a colon"), ("anna:", 6, "no hash that crypt(3) knows"),
        (":x", 1, "no name"), ("a\tb:x", 1, "a name with control characters"),
        (" a:x", 1, "a name with a blank at its end"),
        ("a :x", 1, "a name with a blank at its end"),
        ("lane-a:x", 1, "a name that begins with `lane-`, as those of lanes do"),
        ("anna:$1$salt$qJH7.N4xYta3aEG/dfqo/0", 6, "a hash by MD5, which is guessed too quickly"),
        (
            "anna:$6$rounds=999999999$a$" + String(repeating: "b", count: 86), 6,
            "a hash by sha512 with more than 5000000 rounds"
        ),
        ("anna:hunter2", 6, "no hash that crypt(3) knows"), ("anna:$5$x$y:flour", 6, "a damaged hash by sha256"),
    ])
    func `what is wrong is said with its place, and without what it is`(line: String, column: Int, found: String) {
        let (_, problems) = UserFile("# one\n\(entry.replacing("anna", with: "zoe"))\n\(line)\n").read()
        #expect(problems.map(\.line) == [3])
        #expect(problems.map(\.column) == [column])
        #expect(problems.map(\.found) == [found])
        #expect(!"\(problems)".contains("hunter2"))
    }

    @Test func `a user is there once, and there are not too many`() {
        let twice = UserFile("\(entry)\n\(entry)\n").read()
        #expect(twice.problems.map(\.found) == ["`anna` again"])
        #expect(twice.problems.first?.advice?.contains("line 1") == true)
        let many = (0...UserFile.userLimit).map { "u\($0):\(Self.hashes[6].1)\n" }.joined()
        #expect(UserFile(many).read().problems.map(\.line) == [UserFile.userLimit + 1])
    }

    @Test func `changes leave everything else as it is`() throws {
        let before = "# team\n\n\(entry)\n# second\nben:\(Self.hashes[0].1)"
        var file = UserFile(before)
        let hash = try PasswordHash(Self.hashes[3].1)
        let isThere = file.set("anna", hash)
        let isNew = !file.set("cleo", hash)
        #expect(isThere && isNew)
        #expect(
            file.text
                == "# team\n\nanna:\(Self.hashes[3].1)\n# second\nben:\(Self.hashes[0].1)\ncleo:\(Self.hashes[3].1)\n")
        let removed = [file.remove("ben"), file.remove("ben"), file.remove("# second")]
        #expect(removed == [true, false, false])
        #expect(file.text == "# team\n\nanna:\(Self.hashes[3].1)\n# second\ncleo:\(Self.hashes[3].1)\n")
        #expect(UserFile(before).text == before + "\n")
    }
}
