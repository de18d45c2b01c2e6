// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The `Via` field (RFC 9110 §7.6.3): who has passed a message on.
enum ViaField {
    /// Whether `pseudonym` is the received-by of one of the members.
    static func contains(_ pseudonym: String, in fields: Fields) -> Bool {
        var isFound = false
        fields.forEach(.via) { line in
            for member in line.split(separator: UInt8(ascii: ",")) {
                let parts = member.split { ASCII.isBlank($0) }
                if parts.count >= 2, parts[1].elementsEqual(pseudonym.utf8) { isFound = true }
            }
        }
        return isFound
    }
}
