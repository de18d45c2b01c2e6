// SPDX-License-Identifier: Apache-2.0

/// A user's name and password in the `Basic` scheme (RFC 7617 §2).
///
/// Parsing is strict: credentials that two programs could read as two users are rejected.
package struct BasicCredentials: Sendable, Equatable {
    /// Contains no colon, which ends it, and no control characters.
    package let name: String
    /// May contain colons.
    package let password: String

    /// Why a request has no such credentials.
    package enum Refusal: Error, Sendable, Equatable, CaseIterable {
        /// The field is not there.
        case missing
        /// It is there more than once, though it is no list (RFC 9110 §11.7.2).
        case repeated
        /// It is for another scheme, or for none.
        case otherScheme
        /// Longer than anybody's.
        case tooLong
        /// There is something else than base64 behind the scheme.
        case notBase64
        /// The bytes are not UTF-8, or some are control characters.
        case notText
        /// Name and password cannot be told apart.
        case withoutColon
    }

    /// Bytes of base64: far more than a name and a password of the longest kinds take.
    private static let limit = 1_024

    package init(name: String, password: String) {
        self.name = name
        self.password = password
    }

    /// Reads the credentials in a request's field, which is `Proxy-Authorization` or `Authorization`.
    package static func read(_ fields: Fields, _ field: FieldName) -> Result<BasicCredentials, Refusal> {
        let count = fields.count(of: field)
        guard count <= 1 else { return .failure(.repeated) }
        guard let value = fields.withFirst(field, { Array($0) }) else { return .failure(.missing) }
        let scheme = value.prefix { $0 != 0x20 }
        guard scheme.lazy.map(ASCII.lowercased).elementsEqual("basic".utf8) else { return .failure(.otherScheme) }
        let token = value[scheme.endIndex...].drop { $0 == 0x20 }
        guard token.count <= limit else { return .failure(.tooLong) }
        guard let octets = Base64Text.decoded(octets: Array(token)) else { return .failure(.notBase64) }
        guard let text = String(validating: octets, as: UTF8.self), !text.unicodeScalars.contains(where: isControl)
        else { return .failure(.notText) }
        guard let colon = octets.firstIndex(of: UInt8(ascii: ":")) else { return .failure(.withoutColon) }
        return .success(
            BasicCredentials(
                name: String(decoding: octets[..<colon], as: UTF8.self),
                password: String(decoding: octets[(colon + 1)...], as: UTF8.self)))
    }

    /// True if neither names nor passwords may contain the character.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
}
