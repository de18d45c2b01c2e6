// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// A name in which `*` matches any characters.
package struct NamePattern: Sendable, Hashable {
    /// The pattern as written.
    package let text: String
    /// The texts before, between and after the asterisks.
    private let parts: [[UInt8]]

    package init(_ text: String) {
        self.text = text
        parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map { Array($0) }
    }

    /// True if it matches `name`.
    package func matches(_ name: some Collection<UInt8>) -> Bool {
        let name = Array(name)
        guard let first = parts.first, let last = parts.last, name.starts(with: first) else { return false }
        guard parts.count > 1 else { return name.count == first.count }
        guard name.count >= first.count + last.count, name.suffix(last.count).elementsEqual(last) else { return false }
        // The parts between are searched from left to right: the first match leaves most for the rest.
        var rest = name[first.count..<(name.count - last.count)]
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let start = rest.firstOffset(of: part) else { return false }
            rest = rest[(start + part.count)...]
        }
        return true
    }
}

extension ArraySlice<UInt8> {
    fileprivate func firstOffset(of part: [UInt8]) -> Int? {
        guard count >= part.count else { return nil }
        return (startIndex...(endIndex - part.count)).first { self[$0..<($0 + part.count)].elementsEqual(part) }
    }
}

extension TargetURI {
    /// The URI without the query parameters whose names match one of `patterns`; nil when there are none.
    package func without(_ patterns: [NamePattern]) -> TargetURI? {
        guard let query, !query.isEmpty else { return nil }
        let parameters = query.split(separator: "&", omittingEmptySubsequences: false)
        let kept = parameters.filter { parameter in
            let name = PercentText.octets(of: parameter.utf8.prefix { $0 != UInt8(ascii: "=") })
            return !patterns.contains { $0.matches(name) }
        }
        guard kept.count < parameters.count else { return nil }
        let rest = kept.joined(separator: "&")
        return try? TargetURI(origin + path + (kept.isEmpty ? "" : "?" + rest))
    }
}
