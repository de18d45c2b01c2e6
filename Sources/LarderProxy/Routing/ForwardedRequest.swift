// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// The request as sent upstream: re-serialised from parsed values, without hop-by-hop fields.
struct ForwardedRequest {
    let uri: TargetURI
    let form: RequestForm
    /// `1.1 <pseudonym>`, which identifies messages forwarded by this Larder.
    let via: String
    let configuration: EffectiveConfiguration
    /// Path and query as the client wrote them, where that is not the normal form.
    let spelling: [UInt8]
    /// An element for `Forwarded`, if origins are told about the client.
    var forwarded: String?

    /// `head` as sent upstream, its target in origin-form.
    func head(for head: RequestHead) -> RequestHead {
        var forwarded = RequestHead.none
        write(head, to: &forwarded)
        return forwarded
    }

    /// Writes the forwarded head into `result`, an earlier head, whose storage is reused if it is not shared.
    func write(_ head: RequestHead, to result: inout RequestHead) {
        result.method = head.method
        result.version = .http11
        result.target.removeAll(keepingCapacity: true)
        if spelling.isEmpty {
            uri.withBytes(of: uri.pathAndQueryRange) { result.target.append($0) }
        } else {
            result.target.append(contentsOf: spelling)
        }
        result.fields.removeAllKeepingCapacity()
        write(head, to: &result.fields)
    }

    private func write(_ head: RequestHead, to fields: inout Fields) {
        // Reserves space for additional fields, among them validators and fields of the configuration.
        fields.reserve(lines: head.fields.count + 6, octets: head.fields.octetCount + uri.count + via.utf8.count + 128)
        fields.append(.host) { octets in uri.withBytes(of: uri.authorityRange) { octets.append($0) } }
        let hop = HopByHop(head.fields, for: .forwardRequest)
        head.fields.forEachLine { name, spelling, value in
            if name == .host || name == .referer && form.isGateway { return }
            if hop.ends(name, spelled: spelling) || UnkeyedFields.drops(name, spelled: spelling) { return }
            fields.appendReceived(spelling: spelling, value: value)
        }
        if !configuration.policy.codings.isEmpty { CodedTag.restoreConditions(in: &fields) }
        configuration.apply(to: &fields)
        if let forwarded { fields[.forwarded] = forwarded }
        fields.append(.via, via)
    }
}

extension RequestHead {
    /// A placeholder to be overwritten, without an allocation.
    static let none = RequestHead(method: .get, target: [])
}
