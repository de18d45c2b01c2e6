// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

/// Content that is part of what a request asks for.
struct KeyedContent {
    /// As the client sent it.
    let content: ContentChunk
    let mark: ContentMark
}

extension Exchange {
    /// Reads the content of a POST or QUERY where the configuration says that it is part of the key. Nil for what
    /// passes through: other requests, content that is too long, what may change something all the same, and what asks
    /// for a part or under a condition, which other methods than GET do not know.
    func keyedContent(for service: RoutedService) async throws -> KeyedContent? {
        guard head.method == .post || head.method == .query, service.keysByContent, !traits.wantsUpgrade else {
            return nil
        }
        let configuration = service.configuration(for: uri, method: head.method)
        guard configuration.policy.keyedByContent else { return nil }
        guard configuration.caches, traits.presence.isDisjoint(with: [.conditional, .range]) else { return nil }
        var chunks: [ContentChunk] = []
        if let content {
            guard let read = try await content.readAhead(upTo: configuration.keyedContentLimit) else { return nil }
            chunks = read
        }
        let octets = chunks.flatMap(\.bytes)
        let identity = RequestContentIdentity(octets, fields: head.fields, method: head.method)
        let short = octets.count <= 16 << 10
        // Who finds the threads busy passes through.
        let mark = short ? identity.mark : try? await context.proxy.readers().run { identity.mark }
        guard let mark else { return nil }
        onlyReads = true
        return KeyedContent(content: ContentChunk(octets), mark: mark)
    }
}

/// From what content gets its mark.
struct RequestContentIdentity: Sendable {
    private let octets: [UInt8]
    private let described: [UInt8]
    private let isJSON: Bool
    private let isGraphQL: Bool
    private let method: LarderHTTP.Method

    init(_ octets: [UInt8], fields: Fields, method: LarderHTTP.Method) {
        self.octets = octets
        self.method = method
        var described: [UInt8] = []
        for name in [FieldName.contentType, .contentEncoding, .contentLanguage] {
            described.append(contentsOf: (fields[name] ?? "").utf8)
            // Which no field's value has.
            described.append(0x0A)
        }
        self.described = described
        let type = fields[.contentType].flatMap { MediaType($0) }
        isJSON =
            !fields.contains(.contentEncoding)
            && type.map { $0.essence == "application/json" || $0.subtype.hasSuffix("+json") } ?? false
        isGraphQL = type?.essence == "application/graphql"
    }

    /// The mark; nil for a GraphQL request that may change something.
    var mark: ContentMark? {
        let canonical = isJSON ? CanonicalJSON(octets) : nil
        let documents = isGraphQL ? [octets] : canonical?.documents ?? []
        guard !documents.contains(where: GraphQLDocument.mayChange) else { return nil }
        let digest = ContentDigest(of: described + (canonical?.octets ?? octets))
        return ContentMark(method: method, digest: digest.hexadecimal)
    }
}
