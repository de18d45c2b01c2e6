// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

/// Request content that is part of the cache key.
struct KeyedContent {
    /// The content as the client sent it.
    let content: ContentChunk
    let mark: ContentMark
}

extension ClientRequest {
    /// Reads the content of a POST or QUERY if the configuration makes it part of the key. Nil for requests that are
    /// relayed: all other methods, content that is too long or cannot be parsed, requests that may still change
    /// something, and ranges or conditions, which are defined for GET alone.
    func keyedContent(for service: RoutedService) async throws -> KeyedContent? {
        guard head.method == .post || head.method == .query, service.keysByContent, traits.mayBeKeyedByContent else {
            return nil
        }
        let configuration = service.configuration(for: uri, method: head.method)
        guard configuration.policy.keyedByContent, configuration.caches else { return nil }
        var chunks: [ContentChunk] = []
        if let content {
            guard let read = try await content.readAhead(upTo: configuration.keyedContentLimit) else { return nil }
            chunks = read
        }
        let octets = chunks.flatMap(\.bytes)
        let query = uri.withBytes(of: uri.pathAndQueryRange) { Array($0.drop { $0 != UInt8(ascii: "?") }.dropFirst()) }
        let identity = RequestContentIdentity(
            octets, query: query, fields: head.fields, method: head.method,
            leavingOut: configuration.frozen.configuration.ignoreContent)
        let short = octets.count <= 16 << 10
        // If all threads are busy, the request is relayed.
        let mark = short ? identity.mark : try? await context.proxy.readers().run { identity.mark }
        guard let mark else { return nil }
        onlyReads = true
        return KeyedContent(content: ContentChunk(octets), mark: mark)
    }
}
