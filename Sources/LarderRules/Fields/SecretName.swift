// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Names whose values are not shown, recorded or given away: more than those by which origins identify users
/// (`Credentials`), since nothing is lost where a value is hidden without need.
package enum SecretName {
    private static let fields: Set<FieldName> = [
        .authorization, .proxyAuthorization, .cookie, .setCookie, .authenticationInfo, .proxyAuthenticationInfo,
        "Cookie2", "Set-Cookie2",
    ]
    private static let parts = [
        "token", "secret", "password", "passwd", "apikey", "authkey", "accesskey", "signature", "credential", "session",
        "bearer", "jwt",
    ]
    private static let words: Set<String> = [
        "key", "sig", "auth", "pwd", "pass", "passphrase", "passcode", "code", "assertion", "sid", "csrf",
        // The registered fields again, as parameters and members.
        "authorization", "proxyauthorization", "cookie", "setcookie",
    ]

    /// Whether a field, a parameter or a member of that name contains a credential.
    package static func isOne(_ name: some StringProtocol) -> Bool {
        let plain = name.lowercased().filter { $0 != "-" && $0 != "_" && $0 != "." }
        return words.contains(plain) || parts.contains { plain.contains($0) }
    }

    /// Whether a field of that name contains a credential, or leads to one user.
    package static func isOne(field name: FieldName) -> Bool {
        guard name != "Surrogate-Key" else { return false }
        return fields.contains(name) || Credentials.isOne(name) || isOne(name.spelling)
            || name.spelling.lowercased().hasSuffix("-key")
    }
}
