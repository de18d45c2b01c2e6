// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How to treat request fields that change the responses of some origins although they are not part of the key: a
/// client that sends one could otherwise poison the cache for others (RFC 9111 §7.1).
package struct UnkeyedFields: Sendable, Hashable {
    package enum Treatment: String, Sendable, Hashable, CaseIterable {
        /// Forwarded like any other field.
        case forwarded
        /// Not sent to the origin.
        case dropped
        /// Forwarded, and part of the key.
        case keyed
        /// Forwarded, and the response is not stored.
        case notStored = "not-stored"
    }

    /// Configured exceptions for single fields.
    package var exceptions: [FieldName: Treatment] = [:]

    package init(exceptions: [FieldName: Treatment] = [:]) { self.exceptions = exceptions }

    /// The treatment of `name`. Fields that override a request's destination or source are dropped, unless the
    /// configuration says otherwise: no origin behind Larder can trust values that any client may set.
    package func treatment(of name: FieldName) -> Treatment {
        exceptions[name] ?? (UnkeyedFields.overrides(name) ? .dropped : .forwarded)
    }

    /// Whether a request field is not forwarded.
    package func drops(_ name: FieldName?, spelled spelling: UnsafeRawBufferPointer) -> Bool {
        if let name, exceptions.isEmpty { return UnkeyedFields.registeredOverriding.contains(name) }
        let name = name ?? FieldName(token: spelling)
        if spelling.contains(UInt8(ascii: "_")), exceptions[name] == nil {
            // CGI and its successors (RFC 3875 §4.1.18) do not distinguish an underscore from a hyphen, so this name
            // is treated as the field it becomes there.
            let meant = FieldName(name.canonical.replacing("_", with: "-")) ?? name
            return meant.registeredCode != 0 || treatment(of: meant) == .dropped
        }
        return treatment(of: name) == .dropped
    }

    /// Removes the dropped fields from a request that is about to be forwarded.
    package func drop(from fields: inout Fields) {
        fields.removeAll { name, spelling, _ in drops(name, spelled: spelling) }
    }

    /// The first field of the request because of which its response is not stored.
    package func obstacle(in fields: Fields) -> FieldName? { names(in: fields, treatedAs: .notStored).first }

    /// The addition of the keyed request fields to the key: their names and values, each prefixed with its length.
    package func key(of fields: Fields) -> [UInt8] {
        var key: [UInt8] = []
        for name in names(in: fields, treatedAs: .keyed) {
            LengthPrefixed.append(Array(name.canonical.utf8), to: &key)
            fields.forEach(name) { LengthPrefixed.append(Array($0), to: &key) }
        }
        return key
    }

    private func names(in fields: Fields, treatedAs treatment: Treatment) -> [FieldName] {
        if exceptions.isEmpty { return [] }
        return exceptions.filter { $0.value == treatment && fields.contains($0.key) }.keys.sorted {
            $0.canonical < $1.canonical
        }
    }

    /// Whether frameworks and servers read a field as the host, scheme, path, method, address or user of a request, as
    /// if their own proxy had added it.
    private static func overrides(_ name: FieldName) -> Bool {
        if overriding.contains(name) { return true }
        let text = name.canonical
        return text.first == "x" && prefixes.contains { text.hasPrefix($0) }
    }

    package static let overriding: Set<FieldName> = [
        .forwarded, .xForwardedHost, .xForwardedProto, .xForwardedFor, "X-Host", "X-HTTP-Host-Override",
        "X-Backend-Host",
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-URL-Scheme", "X-Scheme", "Front-End-Https",
        "X-Real-IP", "X-Client-IP", "X-Originating-IP", "X-Cluster-Client-IP", "X-ProxyUser-IP", "True-Client-IP",
        "CF-Connecting-IP", "CF-Visitor", "Fastly-Client-IP", "Client-IP", "Forwarded-For", "Remote-User",
        "Client-Cert",
        "Client-Cert-Chain", "SSL-Client-Cert", "SSL-Client-Verify", "SSL-Client-Subject-DN", "X-Client-Cert",
        "X-Client-DN", "X-Client-Verify", "X-ARR-ClientCert", "X-ARR-SSL", "X-Middleware-Subrequest", "Proxy",
        "X-Matched-Path", "X-Invoke-Path", "X-Invoke-Query", "X-Invoke-Output", "X-HTTP-DestinationURL",
        "X-WAP-Profile", "X-Sendfile-Type", "X-Accel-Mapping", "X-Accel-Internal", "X-Backend",
    ]
    /// Prefixes of further ones.
    private static let prefixes = [
        "x-forwarded", "x-original-", "x-rewrite-", "x-remote-", "x-auth-request-", "x-ssl-", "x-envoy-",
        "x-amzn-mtls-",
    ]
    /// Those of them that have a code.
    private static let registeredOverriding = FieldSet(overriding.filter { $0.registeredCode != 0 })
}

/// Octets that keep their boundaries when they are joined.
enum LengthPrefixed {
    static func append(_ octets: [UInt8], to joined: inout [UInt8]) {
        joined += Array("\(octets.count):".utf8)
        joined += octets
    }
}
