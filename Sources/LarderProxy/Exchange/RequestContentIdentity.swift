// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderStores

/// The source of a content's mark.
///
/// A POST may change something unless its content shows that it does not. So the content is parsed: JSON, lines of
/// JSON, forms and GraphQL documents. Content of another type, in a coding, or ambiguous, gets no mark. QUERY is a safe
/// method with any content.
struct RequestContentIdentity: Sendable {
    private enum Kind { case nothing, json, lines, form, graphQL, other }

    private let octets: [UInt8]
    private let query: [UInt8]
    private let described: [UInt8]
    private let kind: Kind
    private let method: LarderHTTP.Method
    private let omitted: Set<[UInt8]>

    /// - Parameters:
    ///   - query: the query of the target URI, which may contain the GraphQL document as well.
    ///   - omitted: members of JSON that are ignored.
    init(
        _ octets: [UInt8], query: [UInt8] = [], fields: Fields, method: LarderHTTP.Method,
        leavingOut omitted: [String] = []
    ) {
        self.omitted = Set(omitted.map { Array($0.utf8) })
        self.octets = octets
        self.query = query
        self.method = method
        var described: [UInt8] = []
        for name in [FieldName.contentType, .contentEncoding, .contentLanguage] {
            described.append(contentsOf: (fields[name] ?? "").utf8)
            // A byte that no field value contains.
            described.append(0x0A)
        }
        self.described = described
        kind = RequestContentIdentity.kind(of: octets, fields)
    }

    private static func kind(of octets: [UInt8], _ fields: Fields) -> Kind {
        if octets.isEmpty { return .nothing }
        guard !fields.contains(.contentEncoding), let type = fields[.contentType].flatMap({ MediaType($0) }) else {
            return .other
        }
        switch type.essence {
        case "application/x-ndjson", "application/ndjson", "application/jsonl": return .lines
        case "application/x-www-form-urlencoded": return .form
        case "application/graphql": return .graphQL
        case let essence: return essence == "application/json" || type.subtype.hasSuffix("+json") ? .json : .other
        }
    }

    /// The mark; nil for a request that may change something.
    var mark: ContentMark? {
        guard let inURL = FormText.values(of: "query", in: query) else { return nil }
        // Such a POST is an action more often than a question.
        if kind == .nothing, method != .query, inURL.isEmpty { return nil }
        guard let reading = reading ?? unread else { return nil }
        guard !(reading.documents + inURL).contains(where: GraphQLDocument.mayChange) else { return nil }
        let digest = ContentDigest(of: described + reading.octets)
        return ContentMark(method: method, digest: digest.hexadecimal)
    }

    private typealias Reading = (octets: [UInt8], documents: [[UInt8]])

    /// The meaning of the content, in canonical form.
    private var reading: Reading? {
        switch kind {
        case .nothing: return (octets, [])
        case .json: return json(octets)
        case .graphQL: return (octets, [octets])
        case .form:
            // The parts of a GraphQL request with files.
            guard FormText.values(of: "operations", in: octets)?.isEmpty == true else { return nil }
            return FormText.values(of: "query", in: octets).map { (octets, $0) }
        case .lines:
            var documents: [[UInt8]] = []
            for line in octets.split(separator: 0x0A) where !line.allSatisfy({ $0 == 0x0D || $0 == 0x20 }) {
                guard let value = json(Array(line)) else { return nil }
                documents += value.documents
            }
            return (octets, documents)
        case .other: return nil
        }
    }

    private func json(_ text: [UInt8]) -> Reading? {
        guard let value = CanonicalJSON(text, leavingOut: omitted), !value.asksForUnknown else { return nil }
        return (value.octets, value.documents)
    }

    private var unread: Reading? { method == .query ? (octets, []) : nil }
}
