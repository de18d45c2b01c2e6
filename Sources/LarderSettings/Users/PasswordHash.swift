// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A password as crypt(3) keeps it, by one of the methods that take attackers long (crypt(5)). Never printed.
package struct PasswordHash: Sendable, Hashable {
    package enum Method: String, Sendable, CaseIterable {
        case yescrypt
        case gostYescrypt = "gost-yescrypt"
        case scrypt, bcrypt, sha512, sha256

        /// All of them, for people.
        package static let list = "yescrypt, gost-yescrypt, scrypt, bcrypt, sha512 or sha256"
    }

    /// Why a text is no such hash.
    package enum Refusal: Error, Sendable, Equatable {
        /// It is by a method that is guessed quickly, or that has a known defect.
        case weak(String)
        /// Comparing it would keep a thread busy for too long; the text names the excessive parameter.
        case costly(Method, String)
        /// It begins like one of these, and is damaged.
        case malformed(Method)
        /// It is by no method known here: perhaps a password as it is.
        case unknown
    }

    /// The hash as written in the file.
    package let text: String
    package let method: Method

    package init(_ text: String) throws(Refusal) {
        guard let method = PasswordHash.method(of: text) else {
            throw PasswordHash.weakMethod(of: text).map { Refusal.weak($0) } ?? .unknown
        }
        guard PasswordHash.isWellFormed(text, method) else { throw .malformed(method) }
        guard let cost = Cost(of: text, method) else { throw .malformed(method) }
        if let excess = cost.excess { throw .costly(method, excess) }
        self.text = text
        self.method = method
    }

    private static let prefixes: [(String, Method)] = [
        ("$y$", .yescrypt), ("$gy$", .gostYescrypt), ("$7$", .scrypt), ("$2b$", .bcrypt), ("$2y$", .bcrypt),
        ("$6$", .sha512), ("$5$", .sha256),
    ]

    private static func method(of text: String) -> Method? { prefixes.first { text.hasPrefix($0.0) }?.1 }

    /// The name of a method that is refused although crypt(3) or other programs know it.
    private static func weakMethod(of text: String) -> String? {
        let weak = [
            ("$1$", "MD5"), ("$apr1$", "MD5"), ("$md5", "MD5"), ("$sha1$", "SHA-1"), ("{SHA}", "SHA-1"),
            ("$3$", "NTHASH"), ("$2a$", "an early bcrypt"), ("$2x$", "a defective bcrypt"), ("_", "DES"),
        ]
        if let known = weak.first(where: { text.hasPrefix($0.0) }) { return known.1 }
        return text.utf8.count == 13 && text.utf8.allSatisfy(isDigit) ? "DES" : nil
    }

    /// The regular expressions of crypt(5), as code.
    private static func isWellFormed(_ text: String, _ method: Method) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).dropFirst(2)
        guard let last = parts.last, last.allSatisfy(isDigit) else { return false }
        let middle = parts.dropLast()
        switch method {
        case .yescrypt, .gostYescrypt:
            return middle.count == 2 && last.count == 43 && middle.allSatisfy { $0.allSatisfy(isDigit) }
                && middle.first?.isEmpty == false && middle.last?.count ?? 0 <= 86
        case .scrypt:
            return middle.count == 1 && last.count == 43
                && middle.allSatisfy { (11...97).contains($0.count) && $0.allSatisfy(isDigit) }
        case .bcrypt:
            return middle.count == 1 && last.count == 53
                && middle.allSatisfy { $0.count == 2 && $0.allSatisfy(ASCII.isDigit) }
        case .sha512, .sha256:
            let rounds = middle.count == 2 ? middle.first : nil
            guard let salt = middle.last, middle.count <= 2, (1...16).contains(salt.count),
                salt.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") })
            else { return false }
            if let rounds {
                guard rounds.starts(with: "rounds=".utf8), (1...9).contains(rounds.count - 7),
                    rounds.dropFirst(7).allSatisfy(ASCII.isDigit)
                else { return false }
            }
            return last.count == (method == .sha512 ? 86 : 43)
        }
    }

    /// A digit of crypt's base 64.
    static func isDigit(_ octet: UInt8) -> Bool {
        ASCII.isAlpha(octet) || (UInt8(ascii: ".")...UInt8(ascii: "9")).contains(octet)
    }
}

extension PasswordHash: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "[\(method.rawValue)]" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
