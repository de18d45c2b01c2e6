// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// The request as it goes upstream: re-serialised from parsed values, without what belongs to the client's hop.
struct ForwardedRequest {
    let uri: TargetURI
    let way: Way
    /// `1.1 <pseudonym>`, which marks what went through this Larder.
    let via: String
    let configuration: EffectiveConfiguration
    /// Path and query as the client wrote them, where that is not the normal form.
    let spelling: [UInt8]
    /// An element for `Forwarded`, if origins are told for whom a request is.
    var forwarded: String?

    /// `head` as the upstream gets it, its target in origin-form.
    func head(for head: RequestHead) -> RequestHead {
        var fields = head.fields
        HopByHop.strip(&fields, for: .forwardRequest)
        UnkeyedFields().drop(from: &fields)
        fields.remove(.host)
        var forwarded = RequestHead(method: head.method, target: "", fields: Fields())
        forwarded.target = spelling.isEmpty ? uri.withBytes(of: uri.pathAndQueryRange) { Array($0) } : spelling
        forwarded.fields.append(.host, uri.authority)
        fields.forEachLine { name, spelling, value in
            if name == .referer, way.isGateway { return }
            forwarded.fields.appendReceived(spelling: spelling, value: value)
        }
        if !configuration.policy.codings.isEmpty { CodedTag.restoreConditions(in: &forwarded.fields) }
        configuration.apply(to: &forwarded.fields)
        if let element = self.forwarded { forwarded.fields[.forwarded] = element }
        forwarded.fields.append(.via, via)
        return forwarded
    }
}
