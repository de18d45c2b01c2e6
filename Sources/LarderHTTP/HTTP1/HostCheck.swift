// SPDX-License-Identifier: Apache-2.0

/// What a request must say about its host before anybody looks at it (RFC 9112 §3.2).
enum HostCheck {
    static func fault(in head: RequestHead) -> ParseError.Code? {
        switch head.fields.count(of: .host) {
        case 0: return head.version == .http10 ? nil : .missingHost
        case 1: break
        default: return .severalHosts
        }
        let isEmpty = head.fields.withFirst(.host) { value -> Bool? in
            guard let parts = HostGrammar.split(value) else { return nil }
            // A port without a host is no authority in any form of target.
            return parts.hostEnd == 0 && !value.isEmpty ? nil : value.isEmpty
        }
        guard case .some(.some(let isEmpty)) = isEmpty else { return .malformedHost }
        // An http URI without a host is invalid (RFC 9110 §4.2.1). The other forms of target do not take their
        // authority from this field, so it may be empty there.
        return isEmpty && head.target.first == 0x2F ? .emptyHost : nil
    }
}
