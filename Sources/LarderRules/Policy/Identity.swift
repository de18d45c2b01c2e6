// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The parts of a request that identify its user, where responses are stored for each user (`privacy: partitioned`).
///
/// An identified user has a part of the cache to themselves, under the rules of a private cache. For others the rules
/// of a shared cache hold. So they do for responses to requests with credentials that are not named here: another
/// request of the same identity may have none of them, or other ones.
package struct Identity: Sendable, Hashable {
    /// One property that distinguishes users.
    package enum Part: Sendable, Hashable {
        /// The values of a field.
        case field(FieldName)
        /// The values of the cookies of that name (RFC 6265 §4.2).
        case cookie(String)
        /// The address the client connects from.
        case client
        /// The user that the client has proved to be (`access.users`).
        case user
    }

    /// Nil for all fields that look like credentials: a request with any other set of these has another identity.
    package var parts: [Part]?
    /// Fields that the configuration sets or removes: the origin never sees those of clients.
    package var replaced: Set<FieldName> = []

    package init(_ parts: [Part]? = nil, replaced: Set<FieldName> = []) {
        self.parts = parts
        self.replaced = replaced
    }

    /// The identity as bytes, which contain secrets; different identities never have the same bytes. Empty for an
    /// anonymous request.
    ///
    /// - Parameters:
    ///   - client: the address the request came from, if it came from one.
    ///   - user: the proven user, if there is one.
    package func octets(of fields: Fields, client: String?, user: String? = nil) -> [UInt8] {
        var identity: [UInt8] = []
        func add(_ kind: String, _ octets: [UInt8]) {
            LengthPrefixed.append(Array(kind.utf8), to: &identity)
            LengthPrefixed.append(octets, to: &identity)
        }
        func add(_ name: FieldName) {
            let kind = name == .authorization ? "authorization" : "field " + name.canonical
            fields.forEach(name) { if !$0.isEmpty { add(kind, Array($0)) } }
        }
        guard let parts else {
            for name in Credentials.all(in: fields) { add(name) }
            return identity
        }
        for part in parts {
            switch part {
            case .field(let name): add(name)
            case .cookie(let name):
                for value in Identity.cookies(named: name, in: fields) { add("cookie " + name, value) }
            case .client: if let client { add("client", Array(client.utf8)) }
            case .user: if let user { add("user", Array(user.utf8)) }
            }
        }
        return identity
    }

    /// The first field of a request that looks like a credential, is sent to the origin, and is outside the identity.
    package func unnamedCredential(in fields: Fields) -> FieldName? {
        guard let parts else { return nil }
        return Credentials.first(in: fields) { name in
            replaced.contains(name)
                || parts.contains { part in
                    switch part {
                    case .field(let named): named == name
                    // Of several cookies, only the named one is part of the identity.
                    case .cookie(let cookie): name == .cookie && !Identity.cookies(named: cookie, in: fields).isEmpty
                    case .client, .user: false
                    }
                }
        }
    }

    /// True if a field is part of the identity.
    package func names(_ field: FieldName) -> Bool {
        guard let parts else { return Credentials.isOne(field) }
        return parts.contains(.field(field))
    }

    /// The names of the parts of the identity that a request has: for explanations.
    package func named(in fields: Fields, user: String? = nil) -> [String] {
        guard let parts else { return Credentials.all(in: fields).map(\.spelling) }
        return parts.compactMap { part in
            switch part {
            case .field(let name): fields.contains(name) ? name.spelling : nil
            case .cookie(let name): Identity.cookies(named: name, in: fields).isEmpty ? nil : "cookie: \(name)"
            case .client: "client"
            case .user: user == nil ? nil : "user"
            }
        }
    }

    /// The values of all cookies of that name.
    private static func cookies(named name: String, in request: Fields) -> [[UInt8]] {
        var values: [[UInt8]] = []
        request.forEach(.cookie) { line in
            for pair in line.split(separator: 0x3B) {
                let pair = ASCII.trimmed(UnsafeRawBufferPointer(rebasing: pair))
                guard let equals = pair.firstIndex(of: 0x3D), pair[..<equals].elementsEqual(name.utf8) else { continue }
                values.append(Array(pair[(equals + 1)...]))
            }
        }
        return values
    }
}

extension CachePolicy {
    /// The policy for responses to a request with these fields: that of a shared cache, where the request has
    /// credentials that are not part of the identity.
    package func narrowed(for fields: Fields) -> CachePolicy {
        guard let identity, identity.unnamedCredential(in: fields) != nil else { return self }
        var policy = self
        policy.role = .shared
        policy.storesAuthorized = identity.names(.authorization)
        return policy
    }
}

/// Bytes that keep their boundaries when they are joined.
enum LengthPrefixed {
    static func append(_ octets: [UInt8], to joined: inout [UInt8]) {
        joined += Array("\(octets.count):".utf8)
        joined += octets
    }
}
