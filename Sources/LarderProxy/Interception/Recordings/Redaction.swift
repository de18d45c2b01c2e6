// SPDX-License-Identifier: Apache-2.0

/// Text of which some octets are replaced, from its beginning to its end. Without replacements nothing is copied.
struct Redaction {
    private let text: [UInt8]
    private var clean: [UInt8] = []
    /// The octets of the text before this are in `clean`, or replaced.
    private var copied = 0
    private(set) var isChanged = false

    init(_ text: [UInt8]) { self.text = text }

    /// Replaces a range behind all that were replaced before.
    mutating func replace(_ range: Range<Int>, with octets: [UInt8]) {
        guard !text[range].elementsEqual(octets) else { return }
        if !isChanged { clean.reserveCapacity(text.count) }
        isChanged = true
        clean += text[copied..<range.lowerBound]
        clean += octets
        copied = range.upperBound
    }

    var result: [UInt8] { isChanged ? clean + text[copied...] : text }
}
