// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import RawStructuredFieldValues

/// The stored responses that a response to a state-changing request invalidates (RFC 9111 §4.4, RFC 9875 §3).
package enum InvalidationDecision: Sendable, Hashable {
    /// Nothing stored is affected.
    case none(NoneReason)
    /// Everything stored for these URIs, the target first, and for these groups of the target's origin.
    case invalidate(uris: [TargetURI], groups: [String])

    package enum NoneReason: String, Sendable, Hashable, CaseIterable {
        case safeMethod = "safe-method"
        /// Neither 2xx nor 3xx: the state probably did not change.
        case failed
    }
}

package enum Invalidation {
    /// Decides what a final response with that status and those fields invalidates. Methods whose safety is unknown
    /// count as unsafe.
    package static func decide(
        method: Method, target: TargetURI, status: Status, response: Fields
    ) -> InvalidationDecision {
        if method.isSafe { return .none(.safeMethod) }
        guard status.isSuccess || status.isRedirection else { return .none(.failed) }
        var uris = [target]
        for name in [FieldName.location, .contentLocation] where response.count(of: name) == 1 {
            guard let reference = response[first: name],
                let uri = target.resolving(PercentText.reference(inField: reference))
            else { continue }
            // Invalidating the responses of other origins would be an attack on them.
            if uri.hasSameOrigin(as: target), !uris.contains(uri) { uris.append(uri) }
        }
        return .invalidate(uris: uris, groups: groups(response, .cacheGroupInvalidation))
    }

    /// The groups a stored response belongs to (RFC 9875 §2), and those that another field names; they are scoped to
    /// its origin.
    package static func groups(of fields: Fields, surrogateKey: FieldName? = nil) -> [String] {
        var names = fields.contains(.cacheGroups) ? groups(fields, .cacheGroups) : []
        guard let surrogateKey, fields.contains(surrogateKey) else { return names }
        var seen = Set(names)
        fields.forEach(surrogateKey) { line in
            for part in line.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 || $0 == 0x2C }) {
                guard part.count <= groupLength, names.count < groupLimit else { continue }
                let name = String(latin1: part)
                if seen.insert(name).inserted { names.append(name) }
            }
        }
        return names
    }

    /// The most groups that are read; RFC 9875 asks for at least 32.
    package static let groupLimit = 256
    /// The longest name that is accepted, in bytes; RFC 9875 asks for at least 32.
    package static let groupLength = 256

    private static func groups(_ fields: Fields, _ name: FieldName) -> [String] {
        guard let value = fields[name] else { return [] }
        guard var parser = BoundedParsing.parser(value, isDictionary: false),
            let list = try? parser.parseListFieldValue()
        else { return [] }
        var groups: [String] = []
        var seen: Set<String> = []
        for case .item(let item) in list {
            guard case .string(let group) = item.rfc9651BareItem, group.utf8.count <= groupLength else { continue }
            if groups.count < groupLimit, seen.insert(group).inserted { groups.append(group) }
        }
        return groups
    }
}
