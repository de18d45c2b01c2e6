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
    /// passes through: other requests, content that is too long or cannot be read, what may change something all the same,
    /// and what asks for a part or under a condition, which other methods than GET do not know.
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
        let query = uri.withBytes(of: uri.pathAndQueryRange) { Array($0.drop { $0 != UInt8(ascii: "?") }.dropFirst()) }
        let identity = RequestContentIdentity(
            octets, query: query, fields: head.fields, method: head.method,
            leavingOut: configuration.frozen.configuration.ignoredMembers)
        let short = octets.count <= 16 << 10
        // Who finds the threads busy passes through.
        let mark = short ? identity.mark : try? await context.proxy.readers().run { identity.mark }
        guard let mark else { return nil }
        onlyReads = true
        return KeyedContent(content: ContentChunk(octets), mark: mark)
    }
}
