// SPDX-License-Identifier: Apache-2.0
package import Larder

/// A place in a JSON value (RFC 6901): empty for the whole, else a `/` before the name or index of each step.
package struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The pointer as written.
    package let text: String
    private let steps: [String]

    /// Parses a pointer; nil when it does not start with `/`, or has a `~` that is neither `~0` nor `~1`.
    package init?(_ text: String) {
        self.text = text
        guard !text.isEmpty else {
            steps = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        var steps: [String] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: "~", omittingEmptySubsequences: false)
            guard pieces.dropFirst().allSatisfy({ $0.first == "0" || $0.first == "1" }) else { return nil }
            steps.append(
                pieces.dropFirst().reduce(into: String(pieces[0])) { step, piece in
                    step += (piece.first == "0" ? "~" : "/") + piece.dropFirst()
                })
        }
        self.steps = steps
    }

    package var description: String { text }

    /// The value at this place, if any.
    package func value(in value: JSONValue) -> JSONValue? {
        steps.reduce(value) { (found: JSONValue?, step) in found.flatMap { JSONPointer.child(of: $0, step) } }
    }

    /// The value without the part at this place; unchanged when there is none. The whole cannot be removed.
    package func removing(from value: JSONValue) -> JSONValue { JSONPointer.removing(steps[...], from: value) }

    private static func child(of value: JSONValue, _ step: String) -> JSONValue? {
        switch value {
        case .object(let object): object[step]
        case .array(let elements): index(step, in: elements).map { elements[$0] }
        default: nil
        }
    }

    private static func removing(_ steps: ArraySlice<String>, from value: JSONValue) -> JSONValue {
        guard let step = steps.first, let child = child(of: value, step) else { return value }
        let rest = steps.dropFirst()
        switch value {
        case .object(var object):
            // A bare nil would be JSON's null.
            object[step] = rest.isEmpty ? Optional<JSONValue>.none : removing(rest, from: child)
            return .object(object)
        case .array(var elements):
            guard let index = index(step, in: elements) else { return value }
            if rest.isEmpty { elements.remove(at: index) } else { elements[index] = removing(rest, from: child) }
            return .array(elements)
        default: return value
        }
    }

    /// Digits without leading zeros (RFC 6901 §4).
    private static func index(_ step: String, in elements: [JSONValue]) -> Int? {
        guard !step.isEmpty, step.utf8.count <= 18, step.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            step == "0" || !step.hasPrefix("0"), let index = Int(step), index < elements.count
        else { return nil }
        return index
    }
}
