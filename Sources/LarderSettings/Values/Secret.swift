// SPDX-License-Identifier: Apache-2.0

/// A text that must not reach a log, an error message or the admin surface.
///
/// Printing one in any way gives `[redacted]`; code that needs the text calls `reveal()`, which makes those places easy
/// to find.
package struct Secret: Sendable, Equatable {
    private let pieces: [Piece]
    /// The text as written in the configuration when it refers to the secret (`Bearer ${TOKEN}`), which is safe to
    /// show; nil when the secret itself was written there.
    package let reference: String?

    /// A part of a secret.
    package enum Piece: Sendable, Equatable {
        case text(String)
        /// The value of a configuration variable at the time of use.
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

    /// The text with the values of its variables; nil when one of them has none.
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

    /// The text with the values of its variables, but with the names of `named`, and of those without a value.
    func revealOrName(_ values: VariableValues) -> String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .text(let part): text += part
            case .variable(let name): text += values[name] ?? "${\(name)}"
            }
        }
    }

    /// The names of the variables in the secret.
    package var variables: [String] {
        pieces.compactMap { if case .variable(let name) = $0 { name } else { nil } }
    }

    /// Compares in time that depends on the length of `candidate` only.
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
