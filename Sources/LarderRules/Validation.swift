// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Asking the origin whether a stored response is still good (RFC 9111 §4.3).
package enum Validation {
    /// Turns `request`, which is about to be forwarded, into one that validates `stored` (§4.3.1).
    ///
    /// The client's own conditions make room for ours: its tags may name responses that are not stored here, and a
    /// 304 to those could not be told from one to ours. The client's conditions are evaluated against what comes back.
    package static func makeConditional(_ request: inout Fields, for stored: StoredResponse) {
        request.remove(.ifNoneMatch)
        request.remove(.ifModifiedSince)
        request.remove(.ifRange)
        if let eTag = stored.facts.eTag {
            eTag.withUnsafeBytes { request.append(.ifNoneMatch, bytes: $0) }
        }
        // For a part, the date alone would have the origin compare with a clock's resolution what is then combined.
        guard stored.facts.lastModified != nil, stored.facts.eTag == nil || !request.contains(.range) else { return }
        stored.fields.withFirst(.lastModified) { request.append(.ifModifiedSince, bytes: $0) }
    }

    /// Whether a modification date identifies a representation as a strong validator does (RFC 9110 §8.8.2.2): the
    /// response was generated long enough after it. A minute leaves room for clocks that differ.
    package static func isStrong(lastModified: Timestamp, date: Timestamp?) -> Bool {
        guard let date else { return false }
        return date - lastModified >= .seconds(60)
    }
}
