// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Request fields by which origins identify users: `Cookie`, `Authorization`, and those of single APIs (`X-Api-Key`,
/// `PRIVATE-TOKEN`, `X-Amz-Security-Token`).
///
/// RFC 9111 §3.5 knows `Authorization` alone, and allows sharing responses to all others if they have a lifetime.
/// Where it leaves the choice to the cache, a response to any of these fields counts as one user's.
package enum Credentials {
    /// True if the header section has such a field.
    package static func areIn(_ fields: Fields) -> Bool {
        !FieldSet(of: fields).isDisjoint(with: registered) || first(in: fields) != nil
    }

    /// The first such field, except those for which `exempt` returns true.
    package static func first(in fields: Fields, except exempt: (FieldName) -> Bool = { _ in false }) -> FieldName? {
        var found: FieldName?
        fields.forEachLine { name, spelling, _ in
            guard found == nil, isOne(name, spelled: spelling) else { return }
            let name = name ?? FieldName(token: spelling)
            if !exempt(name) { found = name }
        }
        return found
    }

    /// All such fields of a header section, each once, in the order of their names.
    package static func all(in fields: Fields) -> [FieldName] {
        var found: Set<FieldName> = []
        fields.forEachLine { name, spelling, _ in
            if isOne(name, spelled: spelling) { found.insert(name ?? FieldName(token: spelling)) }
        }
        return found.sorted { $0.canonical < $1.canonical }
    }

    /// True if a field is a credential.
    package static func isOne(_ name: FieldName) -> Bool {
        if name.registeredCode != 0 { return registered.contains(name) }
        return Array(name.canonical.utf8).withUnsafeBytes(isUnregisteredOne)
    }

    private static func isOne(_ name: FieldName?, spelled spelling: UnsafeRawBufferPointer) -> Bool {
        if let name { return registered.contains(name) }
        return isUnregisteredOne(spelling)
    }

    private static let registered = FieldSet([.authorization, .proxyAuthorization, .cookie])

    /// Recognised by the words in its name. Browsers' own fields (`Sec-…`) are about the request, not about the user.
    private static func isUnregisteredOne(_ spelling: UnsafeRawBufferPointer) -> Bool {
        let octets = spelling.lazy.map(ASCII.lowercased)
        if octets.starts(with: "sec-".utf8) { return false }
        // npm's random number of one command, and how a user would log in, if one did.
        if octets.elementsEqual("npm-session".utf8) || octets.elementsEqual("npm-auth-type".utf8) { return false }
        let words = octets.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        for (index, word) in words.enumerated() {
            if endings.contains(where: { word.count >= $0.count && word.suffix($0.count).elementsEqual($0) }) {
                return true
            }
            if wholes.contains(where: { word.elementsEqual($0) }) { return true }
            let next = index + 1 < words.count ? words[index + 1] : nil
            switch true {
            case word.elementsEqual("key".utf8):
                let isOfRequest =
                    index > 0 && ["idempotency", "cache"].contains { words[index - 1].elementsEqual($0.utf8) }
                if next == nil, !isOfRequest { return true }
                // Its name or its version, say.
                if index > 0, words[index - 1].elementsEqual("api".utf8) { return true }
            case word.elementsEqual("oidc".utf8):
                if next?.elementsEqual("data".utf8) ?? false { return true }
            // Not `User-Agent`, nor `X-User-Agent`.
            case word.elementsEqual("user".utf8):
                if index > 0, !(next?.elementsEqual("agent".utf8) ?? false) { return true }
            default: break
            }
        }
        return false
    }

    private static let endings: [[UInt8]] = [
        "authorization", "authentication", "auth", "token", "apikey", "accesskey", "session", "sessionid", "secret",
        "credential", "credentials", "cookie", "jwt", "password", "passwd", "bearer", "signature", "identity",
        "account", "accountid", "tenant", "userid", "username", "principal", "cert", "email", "ticket",
        "userinfo",
    ].map { Array($0.utf8) }

    /// Words that are the endings of others.
    private static let wholes: [[UInt8]] = [
        "cookie2", "dpop", "dn", "login", "otp", "pass", "pin", "saml", "sso", "uid",
    ].map { Array($0.utf8) }
}
