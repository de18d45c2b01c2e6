// SPDX-License-Identifier: Apache-2.0

/// A text that must not reach a log, an error message or the admin surface.
///
/// Printing one in any way says `[redacted]`; whoever needs the text asks for it with `reveal()`, which makes the
/// places that do so easy to find.
package struct Secret: Sendable, Equatable {
    private let pieces: [Piece]
    /// The text as it stood in the configuration when it refers to where the secret is (`Bearer ${TOKEN}`), which
    /// is safe to show; nil when the secret itself stood there.
    package let reference: String?

    /// What a secret is made of.
    package enum Piece: Sendable, Equatable {
        case text(String)
        /// The value that a variable of the configuration has when the secret is used.
        case variable(String)
    }

    package init(_ text: String, reference: String? = nil) { self.init([.text(text)], reference: reference) }

    package init(_ pieces: [Piece], reference: String? = nil) {
        self.pieces = pieces
        self.reference = reference
    }

    /// The text, without the values of variables.
    package func reveal() -> String {
        pieces.reduce(into: "") { text, piece in if case .text(let part) = piece { text += part } }
    }

    /// The text with the values that variables have; nil when one of them has none.
    package func reveal(_ values: VariableValues) -> String? {
        var text = ""
        for piece in pieces {
            switch piece {
            case .text(let part): text += part
            case .variable(let name):
                guard let value = values[name] else { return nil }
                text += value
            }
        }
        return text
    }

    /// The variables that it is made with.
    package var variables: [String] {
        pieces.compactMap { if case .variable(let name) = $0 { name } else { nil } }
    }

    /// Compares in a time that depends on the length of `candidate` only.
    package func matches(_ candidate: some Collection<UInt8>) -> Bool {
        let secret = Array(reveal().utf8)
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
