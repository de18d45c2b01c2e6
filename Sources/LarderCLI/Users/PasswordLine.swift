// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy

/// A password while it is typed, byte by byte.
struct PasswordLine {
    enum Outcome: Equatable {
        case more
        case done(String)
        /// Ctrl-C or Ctrl-D: the command is cancelled.
        case givenUp
        /// The bytes typed are no text.
        case notText
    }

    private var octets: [UInt8] = []

    /// Longer ones are cut, and then refused by their length.
    private static let limit = Crypt.passwordLimit + 8

    mutating func take(_ octet: UInt8) -> Outcome {
        switch octet {
        case 0x0A, 0x0D:
            return String(validating: octets, as: UTF8.self).map { .done($0) } ?? .notText
        case 0x03, 0x04, 0x1C: return .givenUp
        case 0x08, 0x7F:
            // Remove one character, which may have several bytes.
            while let last = octets.popLast(), last & 0xC0 == 0x80 {}
        case 0x15: octets = []
        default: if octets.count < PasswordLine.limit { octets.append(octet) }
        }
        return .more
    }

    /// Why a text cannot be a password; nil if it can.
    static func refusal(of password: String) -> String? {
        if password.isEmpty { return "the password is empty" }
        if password.utf8.count > Crypt.passwordLimit {
            return "the password is longer than \(Crypt.passwordLimit) octets"
        }
        // Clients could not send them (RFC 7617 §2).
        if password.unicodeScalars.contains(where: BasicCredentials.isControl) {
            return "the password contains control characters"
        }
        return nil
    }
}
