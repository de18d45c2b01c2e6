// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

extension ResourceURL {
    /// The URL of `path` below this one. No character in `path` is special: all of it is path text and escaped as such;
    /// one leading slash is dropped. A query stays behind the path.
    public func child(_ path: String) -> ResourceURL {
        guard let target else { return ResourceURL(string + "/" + path) }
        let below = path.hasPrefix("/") ? path.dropFirst() : path[...]
        let parent = target.path
        let text = target.origin + parent + (parent.hasSuffix("/") ? "" : "/") + PercentEncoding.path(below)
        return ResourceURL(text + (target.query.map { "?" + $0 } ?? ""))
    }

    /// The URL that `reference` means on a page with this URL, as a link does (RFC 3986 §5.2). Characters that are not
    /// allowed in URLs are escaped; a fragment is dropped.
    public func relative(_ reference: String) -> ResourceURL {
        let reference = PercentText.reference(reference.prefix { $0 != "#" })
        return target?.resolving(reference).map { ResourceURL($0) } ?? ResourceURL(reference)
    }

    /// `relative`, or nil for nil: for links that may be missing.
    public func optionalRelative(_ reference: String?) -> ResourceURL? { reference.map(relative) }

    /// This URL with its query replaced by `text`; nil removes the query.
    func replacingQuery(_ text: String?) -> ResourceURL {
        guard let target else { return self }
        return ResourceURL(target.origin + target.path + (text.map { "?" + $0 } ?? ""))
    }
}

/// Percent-encoding of text for its possible places (RFC 3986 §2.1).
enum PercentEncoding {
    /// Text as part of a path: everything but pchar and slashes is encoded, percent signs too.
    static func path(_ text: some StringProtocol) -> String {
        PercentText.encoded(text) { URICharacter.kind(of: $0) == .plain && $0 != UInt8(ascii: "?") }
    }

    /// Text as a name or value in a query or a form: only unreserved characters, `/` and `?` stay unescaped.
    static func parameter(_ text: some StringProtocol) -> String {
        PercentText.encoded(text) {
            URICharacter.isUnreserved($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?")
        }
    }
}
