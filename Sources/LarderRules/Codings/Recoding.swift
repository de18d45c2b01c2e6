// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The codings in which the content of a stored response can be sent, besides the one it was received in.
///
/// The origin may forbid changing the bytes in transit (`no-transform`, RFC 9110 §7.7); the operator enables it. A
/// response with this value answers requests whatever their `Accept-Encoding`.
package struct Recoding: Sendable, Hashable {
    /// The coding as received.
    package let stored: ServedCoding
    /// The codings that may be applied, the preferred one first.
    package let offered: [ServedCoding]

    /// Longer content is sent as received: it would have to fit into memory, and the client would wait for the encoder.
    package static let longest: Int64 = 4 << 20
    /// Shorter content is not worth coding: head and packet are larger.
    package static let shortest: Int64 = 512

    /// Nil when the bytes of a response are sent as received.
    ///
    /// - Parameter length: bytes of content, if they are known.
    init?(
        status: Status, fields: Fields, directives: CacheControl.Response, isWhole: Bool, length: Int64?,
        offered: [ServedCoding]
    ) {
        guard !offered.isEmpty, status == 200, isWhole, length ?? 0 <= Recoding.longest,
            !directives.flags.contains(.noTransform), let stored = ServedCoding(of: fields),
            fields.count(of: .contentType) == 1,
            let type = fields.withFirst(.contentType, { MediaType($0) }) ?? nil, Recoding.isWorthCoding(type)
        else { return nil }
        self.stored = stored
        self.offered = offered
    }

    /// True if coding makes content of that type shorter; false where the format itself is compressed.
    static func isWorthCoding(_ type: MediaType) -> Bool {
        // Events are sent one by one for as long as the origin likes.
        if type.type == "text" { return type.subtype != "event-stream" }
        if ["json", "xml", "yaml"].contains(where: { type.subtype == $0 || type.subtype.hasSuffix("+" + $0) }) {
            return true
        }
        return [
            "application/javascript", "application/ecmascript", "application/x-javascript", "application/wasm",
            "application/graphql", "application/x-ndjson", "application/json-seq", "application/jsonl",
            "application/sql", "font/ttf", "font/otf", "image/bmp",
        ].contains(type.essence)
    }
}

/// The coding in which a stored response answers a request.
package struct CodingDecision: Sendable, Hashable {
    package var coding: ServedCoding
    /// True if `Range` is ignored: the client's part may be in another coding (RFC 9110 §14.2 allows ignoring it).
    package var ignoresRange = false

    package init(_ coding: ServedCoding, ignoresRange: Bool = false) {
        self.coding = coding
        self.ignoresRange = ignoresRange
    }
}

extension Recoding {
    /// Chooses for a request with the fields `request`.
    ///
    /// If the client's conditions show that it has one form, that form is validated; else the coding with the highest
    /// weight is chosen. No request is refused for want of a coding (RFC 9110 §12.5.3 allows that).
    ///
    /// - Parameters:
    ///   - eTag: of the content as received.
    ///   - length: of the content as received, in bytes.
    package func decide(_ request: Fields, eTag: EntityTag?, length: Int64?) -> CodingDecision {
        let isRange = request.contains(.range)
        // RFC 9111 §5.2.1.6.
        if CacheControl.Request(request).noTransform { return CodingDecision(stored) }
        let accepted = AcceptedCodings(request)
        func isUsable(_ coding: ServedCoding) -> Bool {
            accepted.weight(of: coding) > 0 && (coding == stored || coding == .identity || offered.contains(coding))
        }
        if case .tags(let tags) = EntityTagList(.ifNoneMatch, in: request),
            let held = tags.lazy.compactMap({ form($0, of: eTag) }).first(where: isUsable)
        {
            return CodingDecision(held, ignoresRange: isRange && held != stored)
        }
        let best = best(for: accepted, length: length)
        guard isRange else { return CodingDecision(best) }
        if request.contains(.ifRange) {
            if let tag = request.withFirst(.ifRange, { EntityTag($0) }), let held = form(tag, of: eTag), isUsable(held)
            {
                return CodingDecision(held)
            }
            // A date, which does not distinguish codings; or another tag, which does not match in any case.
            return CodingDecision(best, ignoresRange: true)
        }
        return isUsable(stored) ? CodingDecision(stored) : CodingDecision(best, ignoresRange: true)
    }

    /// The coding of the form of this response that `tag` names.
    private func form(_ tag: EntityTag, of eTag: EntityTag?) -> ServedCoding? {
        guard let eTag else { return nil }
        if tag.weaklyMatches(eTag) { return stored }
        guard let split = CodedTag.split(tag), split.original.weaklyMatches(eTag) else { return nil }
        return split.coding
    }

    private func best(for accepted: AcceptedCodings, length: Int64?) -> ServedCoding {
        var codings = [stored]
        // Of equal weights the stored coding wins; content stored without one is coded if it is long enough.
        if stored == .identity {
            codings = length ?? .max >= Recoding.shortest ? offered + codings : codings
        } else {
            codings += offered + [.identity]
        }
        var best = stored
        var weight = 0
        for coding in codings where accepted.weight(of: coding) > weight {
            (best, weight) = (coding, accepted.weight(of: coding))
        }
        return best
    }
}
