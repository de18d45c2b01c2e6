// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The addition of a request's content to the key of a Resource: the method and a digest, written
/// as in `POST-9f86d081884c7d65…`.
package struct ContentMark: Sendable, Hashable {
    package let method: LarderHTTP.Method
    /// 64 hexadecimal digits in lower case.
    package let digest: String

    package init(method: LarderHTTP.Method, digest: String) {
        self.method = method
        self.digest = digest
    }

    /// Parses the form that `text` writes; nil for anything else.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 64,
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
            let method = LarderHTTP.Method(parts[0]), method == .post || method == .query
        else { return nil }
        self.method = method
        digest = String(parts[1])
    }

    package var text: String { "\(method.token)-\(digest)" }

    /// The URL in `key`, and the mark behind it if there is one.
    package static func split(_ key: String) -> (url: String, mark: ContentMark?) {
        guard let hash = key.utf8.lastIndex(of: UInt8(ascii: "#")),
            let mark = ContentMark(key[key.index(after: hash)...])
        else {
            return (key, nil)
        }
        return (String(key[..<hash]), mark)
    }
}
