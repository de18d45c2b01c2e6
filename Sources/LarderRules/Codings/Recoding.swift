// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Which codings the content of a stored response can be given in, beside the one it came in.
///
/// That its octets may change on the way is for the origin to deny (`no-transform`, RFC 9110 §7.7); that they do is
/// for the operator to ask for. A response that has this answers requests whatever their `Accept-Encoding`.
package struct Recoding: Sendable, Hashable {
    /// As it came.
    package let stored: ServedCoding
    /// What may be applied, the preferred one first.
    package let offered: [ServedCoding]

    /// Longer content goes out as it came: memory is to hold it, and a client to wait while it is coded.
    package static let longest: Int64 = 4 << 20
    /// Shorter content is not worth coding: head and packet weigh more.
    package static let shortest: Int64 = 512

    /// Nil when the octets of a response go out as they came.
    ///
    /// - Parameter length: octets of content, if they are known.
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

    /// Whether content of that type becomes shorter by coding it, and is not coded already as part of its format.
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

/// In which coding a stored response answers a request.
package struct CodingDecision: Sendable, Hashable {
    package var coding: ServedCoding
    /// Whether `Range` does not count: what the client has a part of may be in another coding (RFC 9110 §14.2 lets
    /// anybody ignore it).
    package var ignoresRange = false

    package init(_ coding: ServedCoding, ignoresRange: Bool = false) {
        self.coding = coding
        self.ignoresRange = ignoresRange
    }
}

extension Recoding {
    /// Chooses for a request with the fields `request`.
    ///
    /// What the client shows by its conditions to have is what it gets the news of; else the coding with the highest
    /// weight, of which those come first that cost nothing. Nothing is ever refused for want of a coding (RFC 9110
    /// §12.5.3 allows that).
    ///
    /// - Parameters:
    ///   - eTag: of the content as it came.
    ///   - length: of the content as it came, in octets.
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
            // A date, by which codings cannot be told apart; or another tag, which does not hold in any case.
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
        // What is there is given before what has to be made, except that coding is what was asked for.
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
