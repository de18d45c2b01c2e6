// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The names of this Larder in the `Via` fields of requests (RFC 9110 §7.6.3): a different name for each origin, so
/// that origins cannot tell by it that they have a client in common. This Larder recognises all of its names.
package struct Pseudonym: Sendable {
    /// Random, so that several Larders in a chain are distinct, and names are unpredictable.
    private let secret = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    private static let prefix = "larder-"

    package init() {}

    /// The name for an origin. Only this process can create it, or tell which origin it is for.
    func name(for origin: some Hashable) -> String {
        let number = digest(origin, 0)
        return "\(Pseudonym.prefix)\(String(number, radix: 36))-\(String(digest(number, 1), radix: 36))"
    }

    /// The received-by of the first member of `Via` that is a name of this Larder's, whichever origin it is for.
    func own(in fields: Fields) -> String? {
        var found: String?
        fields.forEach(.via) { line in
            for member in line.split(separator: UInt8(ascii: ",")) where found == nil {
                let parts = member.split { ASCII.isBlank($0) }
                guard parts.count >= 2, parts[1].count <= 64 else { continue }
                let name = String(decoding: parts[1], as: UTF8.self)
                if isOwn(name) { found = name }
            }
        }
        return found
    }

    private func isOwn(_ name: String) -> Bool {
        guard name.hasPrefix(Pseudonym.prefix) else { return false }
        let parts = name.dropFirst(Pseudonym.prefix.utf8.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt64(parts[0], radix: 36) else { return false }
        return name == "\(Pseudonym.prefix)\(String(number, radix: 36))-\(String(digest(number, 1), radix: 36))"
    }

    private func digest(_ value: some Hashable, _ use: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(secret.0)
        hasher.combine(use)
        hasher.combine(value)
        hasher.combine(secret.1)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
