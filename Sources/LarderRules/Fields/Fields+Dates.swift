// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension Fields {
    /// The instant in a field that must not occur twice; nil when it is absent, repeated or invalid (RFC 9110 §5.6.7).
    func date(_ name: FieldName, now: Timestamp) -> Timestamp? {
        guard count(of: name) == 1, let date = withFirst(name, { HTTPDate.parse($0, now: now) }) else { return nil }
        return date
    }

    /// The entity tag; nil when there is none, or more than one, so that the intended one is unknown.
    var singleEntityTag: EntityTag? { count(of: .eTag) == 1 ? entityTag : nil }
}

extension EntityTag {
    /// True if it identifies bytes rather than only a meaning, as combining parts requires (RFC 9110 §8.8.1). A
    /// malformed tag identifies nothing for certain.
    var isStrong: Bool { isWellFormed && !isWeak }
}
