// SPDX-License-Identifier: Apache-2.0

/// A text that must not reach a log, an error message or the admin surface.
///
/// Printing one in any way says `[redacted]`; whoever needs the text asks for it with `reveal()`, which makes the
/// places that do so easy to find.
package struct Secret: Sendable, Equatable {
    private let text: String
    /// The text as it stood in the configuration when it refers to where the secret is (`Bearer ${TOKEN}`), which
    /// is safe to show; nil when the secret itself stood there.
    package let reference: String?

    package init(_ text: String, reference: String? = nil) {
        self.text = text
        self.reference = reference
    }

    package func reveal() -> String { text }

    /// Compares in a time that depends on the length of `candidate` only.
    package func matches(_ candidate: some Collection<UInt8>) -> Bool {
        let secret = Array(text.utf8)
        guard !secret.isEmpty else { return false }
        var difference = secret.count ^ candidate.count
        for (index, byte) in candidate.enumerated() {
            difference |= Int(byte ^ secret[index % secret.count])
        }
        return difference == 0
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "[redacted]" }
    package var debugDescription: String { "[redacted]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
