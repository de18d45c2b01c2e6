// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Which fields of a message end at this hop (RFC 9110 §7.6.1) and which must not be stored (RFC 9111 §3.1).
///
/// These are the connection's own fields, and those that `Connection` names. A name that is known to be end-to-end stays
/// even if `Connection` names it. The RFC forbids senders to name such fields; obeying would let a client strip
/// `Authorization` from a request, or an origin `Cache-Control` from a response, and change what the message means to
/// everyone behind.
package struct HopByHop {
    package enum Purpose: Sendable, CaseIterable {
        case forwardRequest, forwardResponse, store
    }

    private let purpose: Purpose
    private let nominated: Set<FieldName>

    /// What ends here of the message with these fields.
    package init(_ fields: Fields, for purpose: Purpose) {
        self.purpose = purpose
        nominated = HopByHop.nominated(fields)
    }

    /// Whether a field ends here.
    package func ends(_ name: FieldName?, spelled spelling: UnsafeRawBufferPointer) -> Bool {
        guard let name else {
            return spelling.isFolded("http2-settings")
                || !nominated.isEmpty && nominated.contains(FieldName(token: spelling))
        }
        return HopByHop.always.contains(name)
            || purpose != .forwardRequest && HopByHop.ofTheProxy.contains(name)
    }

    /// Removes from `fields` what ends here.
    package static func strip(_ fields: inout Fields, for purpose: Purpose) {
        let hop = HopByHop(fields, for: purpose)
        fields.removeAll { name, spelling, _ in hop.ends(name, spelled: spelling) }
    }

    /// The unregistered names that `Connection` lists.
    package static func nominated(_ fields: Fields) -> Set<FieldName> {
        guard fields.contains(.connection) else { return [] }
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
