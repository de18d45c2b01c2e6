// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// The forms of one stored response: its content in the codings that clients have asked for, each encoded once.
///
/// They are in memory only, and live as long as the variant they were made from. There is at most one per coding.
package final class CodedForms: Sendable {
    /// Content in another coding.
    package struct Product: Sendable {
        package let chunks: [ContentChunk]
        package let length: Int
        /// The digest of the bytes, in hexadecimal digits.
        package let digest: String

        package init(chunks: [ContentChunk], length: Int, digest: String) {
            self.chunks = chunks
            self.length = length
            self.digest = digest
        }
    }

    /// The result of an attempt to encode content.
    package enum Making: Sendable {
        case made(Product)
        /// The content cannot be encoded, or is not worth encoding; another attempt would end in this way again.
        case impossible
        /// There was no capacity for the work.
        case busy
    }

    private enum Entry {
        case ready(Product, Variant?)
        case impossible
    }

    private struct State {
        var entries: [ServedCoding: Entry] = [:]
        /// The form as received, where it has to be distinguished from other forms.
        var asItCame: Variant?
    }

    private let state: Lock<State>
    private let first = FirstCaller<ServedCoding>()

    /// - Parameter other: the forms of the same content under another head.
    init(after other: CodedForms?) {
        var state = State()
        for (coding, entry) in other?.state.withLock({ $0.entries }) ?? [:] {
            switch entry {
            case .ready(let product, _): state.entries[coding] = .ready(product, nil)
            case .impossible: state.entries[coding] = .impossible
            }
        }
        self.state = Lock(state)
    }

    /// Bytes in memory.
    var cost: Int {
        state.withLock { state in
            state.entries.values.reduce(0) { sum, entry in
                if case .ready(let product, _) = entry { sum + product.length + 2560 } else { sum }
            }
        }
    }

    /// `variant` as received, with fields that announce other forms.
    package func asItCame(_ variant: Variant) -> Variant {
        if CodedForms.varies(variant.served.fields) { return variant }
        if let known = state.withLock({ $0.asItCame }) { return known }
        var fields = variant.served.fields
        CodedForms.noteForms(in: &fields)
        let form = variant.form(.asItCame, fields: fields, content: variant.content)
        state.withLock { $0.asItCame = form }
        return form
    }

    /// `variant` in `coding`, whose content `make` encodes once for all callers; nil when it is unavailable.
    package func form(
        _ coding: ServedCoding, of variant: Variant, make: () async -> Making
    ) async -> Variant? {
        if state.withLock({ $0.entries[coding] }) == nil, await first.begin(coding) {
            defer { first.end(coding) }
            if state.withLock({ $0.entries[coding] }) == nil {
                switch await make() {
                case .made(let product): state.withLock { $0.entries[coding] = .ready(product, nil) }
                case .impossible: state.withLock { $0.entries[coding] = .impossible }
                case .busy: break
                }
            }
        }
        // If the first caller found no capacity, the callers that waited for it do not try again.
        guard case .ready(let product, let form) = state.withLock({ $0.entries[coding] }) else { return nil }
        return form ?? keep(product, coding, of: variant)
    }

    private func keep(_ product: Product, _ coding: ServedCoding, of variant: Variant) -> Variant {
        let form = variant.form(
            .coded(coding), fields: CodedForms.fields(of: variant.served, coding, digest: product.digest),
            content: .memory(product.chunks, length: product.length))
        state.withLock { $0.entries[coding] = .ready(product, form) }
        return form
    }

    // MARK: Heads

    /// The header section of `served` with its content in `coding`.
    private static func fields(of served: StoredResponse, _ coding: ServedCoding, digest: String) -> Fields {
        var fields = served.fields
        let modified = fields[.lastModified]
        WireFields.removeThoseOfOriginalOctets(from: &fields)
        fields[.lastModified] = modified
        if let eTag = served.facts.eTag.flatMap({ CodedTag.make($0, coding, digest: digest) }) {
            eTag.octets.withUnsafeBytes { fields.append(.eTag, bytes: $0) }
        }
        if coding != .identity { fields[.contentEncoding] = coding.rawValue }
        noteForms(in: &fields)
        return fields
    }

    /// Tells other caches that there are several forms (RFC 9110 §12.5.5).
    package static func noteForms(in fields: inout Fields) {
        if !varies(fields) { fields.append(.vary, "Accept-Encoding") }
    }

    private static func varies(_ fields: Fields) -> Bool {
        Variance(vary: fields, request: Fields()).selectors.contains { $0.name == .acceptEncoding }
    }
}
