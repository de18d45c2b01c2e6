// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The fields of a message that are hop-by-hop (RFC 9110 §7.6.1), and those that must not be stored (RFC 9111 §3.1).
///
/// These are the connection's own fields, and those that `Connection` names. Fields known to be end-to-end stay even if
/// `Connection` names them. The RFC forbids senders to name such fields; removing them would let a client strip
/// `Authorization` from a request, or an origin `Cache-Control` from a response, and change the meaning of the message
/// for all later recipients.
package struct HopByHop {
    package enum Purpose: Sendable, CaseIterable {
        case forwardRequest, forwardResponse, store
    }

    private let purpose: Purpose
    private let nominated: Set<FieldName>

    /// The hop-by-hop fields of the message with these fields.
    package init(_ fields: Fields, for purpose: Purpose) {
        self.purpose = purpose
        nominated = HopByHop.nominated(fields)
    }

    /// True if a field is hop-by-hop.
    package func ends(_ name: FieldName?, spelled spelling: UnsafeRawBufferPointer) -> Bool {
        guard let name else {
            return spelling.isFolded("http2-settings")
                || !nominated.isEmpty && nominated.contains(FieldName(token: spelling))
        }
        return HopByHop.always.contains(name)
            || purpose != .forwardRequest && HopByHop.ofTheProxy.contains(name)
    }

    /// Removes the hop-by-hop fields from `fields`.
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
    /// Fields that a proxy in between addressed to us.
    private static let ofTheProxy = FieldSet([.proxyAuthenticate, .proxyAuthenticationInfo])
}
