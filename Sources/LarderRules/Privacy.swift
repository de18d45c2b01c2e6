// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// For whom a request's responses are kept.
package enum PrivacyMode: String, Sendable, Hashable, CaseIterable {
    /// One cache for all, by the rules of a shared cache (RFC 9111 §3.5).
    case shared
    /// A cache for each identity, by the rules of a private one; requests without identity share one.
    case partitioned
    /// One user: one cache, by the rules of a private one.
    case `private`
}

/// The part of the cache that a request may see.
package enum Partition: Sendable, Hashable {
    case everyone
    case singleUser
    /// Who the request comes from, in an unambiguous form that holds secrets: only a keyed digest of it may be stored
    /// or logged.
    case identity([UInt8])
}

package enum Privacy {
    /// What identifies a user, as far as the configuration names it.
    package struct Inputs: Sendable, Hashable {
        package var authorization = true
        /// Names of cookies.
        package var cookies: [String] = []
        package var clientCertificate = false
        package var listener = false

        package init() {}
    }

    /// Decides which partition a request belongs to, and by which rules responses are kept there.
    ///
    /// - Parameter clientCertificate: the digest of the client's certificate, if it has one.
    /// - Parameter listener: the name of the listener that took the connection.
    /// - Parameter configuredCredentials: the current value of credentials that Larder itself adds: when they change,
    ///   what they got is out of reach.
    package static func decide(
        _ mode: PrivacyMode, _ inputs: Inputs, request: Fields, clientCertificate: [UInt8]? = nil,
        listener: String? = nil,
        configuredCredentials: [UInt8]? = nil
    ) -> (partition: Partition, role: CachePolicy.Role) {
        var identity: [UInt8] = []
        func add(_ kind: String, _ octets: [UInt8]) {
            LengthPrefixed.append(Array(kind.utf8), to: &identity)
            LengthPrefixed.append(octets, to: &identity)
        }
        if let configuredCredentials { add("configured", configuredCredentials) }
        if mode == .partitioned {
            if inputs.authorization { request.forEach(.authorization) { add("authorization", Array($0)) } }
            for name in Set(inputs.cookies).sorted() {
                for value in cookies(named: name, in: request) { add("cookie " + name, value) }
            }
            if inputs.clientCertificate, let clientCertificate { add("certificate", clientCertificate) }
            if inputs.listener, let listener { add("listener", Array(listener.utf8)) }
        }
        if !identity.isEmpty { return (.identity(identity), mode == .shared ? .shared : .private) }
        return mode == .private ? (.singleUser, .private) : (.everyone, .shared)
    }

    /// The values of all cookies of that name (RFC 6265 §4.2).
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
