// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Which fields end at this hop (RFC 9110 §7.6.1) and which must not be stored (RFC 9111 §3.1).
package enum HopByHop {
    package enum Purpose: Sendable, CaseIterable {
        case forwardRequest, forwardResponse, store
    }

    /// Removes from `fields` what ends here: the connection's own fields, and those that `Connection` names.
    ///
    /// A name that is known to be end-to-end stays even if `Connection` names it. The RFC forbids senders to name
    /// such fields; obeying would let a client strip `Authorization` from a request, or an origin `Cache-Control`
    /// from a response, and change what the message means to everyone behind.
    package static func strip(_ fields: inout Fields, for purpose: Purpose) {
        let nominated = nominated(fields)
        fields.removeAll { name, spelling, _ in
            guard let name else {
                if nominated.isEmpty && !spelling.isFolded("http2-settings") { return false }
                return spelling.isFolded("http2-settings") || nominated.contains(FieldName(token: spelling))
            }
            if always.contains(name) { return true }
            return purpose != .forwardRequest && ofTheProxy.contains(name)
        }
    }

    /// The unregistered names that `Connection` lists.
    package static func nominated(_ fields: Fields) -> Set<FieldName> {
        var names: Set<FieldName> = []
        fields.forEach(.connection) { line in
            for member in line.split(separator: 0x2C) {
                let octets = ASCII.trimmed(UnsafeRawBufferPointer(rebasing: member))
                if let name = FieldName(bytes: octets), name.registeredCode == 0 { names.insert(name) }
            }
        }
        return names
    }

    private static let always = FieldSet([
        .connection, .proxyConnection, .keepAlive, .te, .trailer, .transferEncoding, .upgrade, .proxyAuthorization,
    ])
    /// What a proxy on the way said for itself, to us.
    private static let ofTheProxy = FieldSet([.proxyAuthenticate, .proxyAuthenticationInfo])
}
