// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Names whose values are not shown, recorded or given away: more than those by which origins identify users
/// (`Credentials`), since nothing is lost where a value is hidden without need.
///
/// Names are compared without case and without what separates their words.
package enum SecretName {
    private static let fields: Set<FieldName> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, .authenticationInfo, .proxyAuthenticationInfo,
        "Cookie2", "Set-Cookie2", "DPoP", "X-Amzn-Oidc-Data",
    ]
    /// Ends of fields' names, behind whom or what they are for: `GitHub-OTP`. Not `Code`: many of them are of errors.
    private static let lastWordsOfFields: Set<Substring> = ["key", "sig", "auth", "sid", "ticket"]
    /// Words before `Code` that make it a secret.
    private static let codes = Words([
        "otp", "totp", "mfa", "2fa", "sms", "verification", "confirmation", "authorization", "auth", "access", "login",
        "security", "recovery", "backup", "reset",
    ])
    private static let code = Words(["code", "codes"])
    /// Ends of all names: `DB_PASS`, `userPin`.
    private static let lastWords = Words([
        "pwd", "pass", "passphrase", "passcode", "pin", "otp", "totp", "cvv", "cvc", "hmac", "assertion", "verifier",
    ])
    /// Anywhere in a name.
    private static let parts = Words([
        "token", "secret", "password", "passwd", "apikey", "authkey", "accesskey", "signature", "credential", "session",
        "sessid", "bearer", "jwt", "csrf", "xsrf",
    ])
    /// Ends of names of what only describes a credential: `token_type`, `token_endpoint`.
    private static let descriptions = Words(["tokentype", "tokentypehint", "tokenendpoint"])
    private static let sessions = Words(["sessionid", "sessid"])
    /// Names of their own.
    private static let words = Words([
        "key", "sig", "auth", "xauth", "pwd", "pass", "passphrase", "passcode", "pin", "otp", "code", "assertion",
        "sid", "devicecode", "usercode", "authcode", "codeverifier", "samlresponse", "samlrequest", "ticket",
        // The registered fields again, as parameters and members.
        "authorization", "proxyauthorization", "cookie", "setcookie",
    ])
    /// Ends of names of keys that open something. Other keys find things: `sortKey`.
    private static let keys = Words(
        [
            "api", "subscription", "private", "access", "auth", "secret", "encryption", "signing", "license", "account",
            "shared", "master", "storage", "functions", "deploy", "ssh",
        ].map { $0 + "key" })
    /// How names end whose value may be a number: not `max_tokens`, which is a count, nor `token_expires_in`.
    private static let numbers = Words([
        "token", "secret", "password", "passwd", "key", "sig", "signature", "auth", "pwd", "pass", "passphrase",
        "passcode", "pin", "otp", "code", "sid", "session", "sessionid", "sessid", "credential", "jwt", "csrf", "xsrf",
        "assertion", "ticket", "verifier", "cookie", "authorization",
    ])

    /// True if a field, a parameter or a member of that name contains a credential.
    package static func isOne(_ name: some StringProtocol) -> Bool { isOne(octets: Array(name.utf8)[...]) }

    /// The same for a name in UTF-8.
    package static func isOne(octets name: ArraySlice<UInt8>) -> Bool {
        let plain = plain(name)
        return words.isAll(of: plain) || keys.isEnd(of: plain)
            || parts.isIn(plain) && !descriptions.isEnd(of: plain) || endsInSecret(name)
    }

    /// True if the words of a name end in one for a secret: they are separated, or begin with a capital letter.
    private static func endsInSecret(_ name: ArraySlice<UInt8>) -> Bool {
        var rest = name
        let last = takeLastWord(of: &rest)
        if lastWords.isAll(of: last) { return true }
        return code.isAll(of: last) && codes.isAll(of: takeLastWord(of: &rest))
    }

    private static func isWordOctet(_ octet: UInt8) -> Bool { ASCII.isAlpha(octet) || ASCII.isDigit(octet) }

    private static func takeLastWord(of name: inout ArraySlice<UInt8>) -> [UInt8] {
        while let last = name.last, !isWordOctet(last) { name.removeLast() }
        var start = name.endIndex
        while start > name.startIndex {
            let octet = name[start - 1]
            guard isWordOctet(octet) else { break }
            start -= 1
            let isCapital = octet != ASCII.lowercased(octet)
            if isCapital, start > name.startIndex, name[start - 1] == ASCII.lowercased(name[start - 1]) { break }
        }
        defer { name = name[..<start] }
        return name[start...].map(ASCII.lowercased)
    }

    /// True if a parameter of that name identifies a session.
    package static func isSession(octets name: ArraySlice<UInt8>) -> Bool { sessions.isEnd(of: plain(name)) }

    /// True if a number is the credential in a member of that name, which contains one: a whole number, of at least
    /// four digits. Shorter ones are counts, indexes and statuses: nobody gains from `REDACTED` for them, and requests
    /// that differ in them would become the same.
    package static func hidesNumbers(octets name: ArraySlice<UInt8>) -> Bool { numbers.isEnd(of: plain(name)) }

    /// True if that parameter, whose name contains a credential's, is a count: `max_tokens=100`.
    package static func isCount(octets name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) -> Bool {
        value.allSatisfy(ASCII.isDigit) && plain(name).suffix(6).elementsEqual("tokens".utf8)
    }

    /// True if a field of that name contains a credential, or leads to one user.
    package static func isOne(field name: FieldName) -> Bool {
        guard name != "Surrogate-Key" else { return false }
        if fields.contains(name) || Credentials.isOne(name) || isOne(name.spelling) { return true }
        // Capital letters separate no words here.
        if endsInSecret(Array(name.canonical.utf8)[...]) { return true }
        let words = name.canonical.split { $0 == "-" || $0 == "_" }
        guard words.count > 1, let last = words.last else { return false }
        return lastWordsOfFields.contains(last) || words == ["x", "code"]
    }

    private static func plain(_ name: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(name.count)
        for octet in name {
            switch octet {
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "+"), ...0x20: break
            default: plain.append(ASCII.lowercased(octet))
            }
        }
        return plain
    }

    /// Words by one of their bytes, since each name of a large content is compared with all of them.
    private struct Words: Sendable {
        private var byFirst = [[[UInt8]]](repeating: [], count: 256)
        private var byLast = [[[UInt8]]](repeating: [], count: 256)

        init(_ words: [String]) {
            for word in words.map({ Array($0.utf8) }) {
                byFirst[Int(word.first ?? 0)].append(word)
                byLast[Int(word.last ?? 0)].append(word)
            }
        }

        func isAll(of name: [UInt8]) -> Bool {
            guard let first = name.first else { return false }
            return byFirst[Int(first)].contains { $0 == name }
        }

        func isEnd(of name: [UInt8]) -> Bool {
            guard let last = name.last else { return false }
            return byLast[Int(last)].contains {
                $0.count <= name.count && Words.matches($0, name, name.count - $0.count)
            }
        }

        func isIn(_ name: [UInt8]) -> Bool {
            for start in name.indices {
                for word in byFirst[Int(name[start])] where start + word.count <= name.count {
                    if Words.matches(word, name, start) { return true }
                }
            }
            return false
        }

        private static func matches(_ word: [UInt8], _ name: [UInt8], _ start: Int) -> Bool {
            for index in word.indices where word[index] != name[start + index] { return false }
            return true
        }
    }
}
