// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Mapping of links in content to Larder's URLs, for clients of the gateway.
extension Exchange {
    /// Whether links in this client's response are mapped, as far as the request tells.
    func mapsLinks(_ retrieval: Retrieval) -> Bool {
        retrieval.way.isGateway && retrieval.configuration.mapsLinks
    }

    /// Rewrites a request for content with mapped links for the origin, whose offsets and entity tags differ. Copies
    /// the client has with other links, or without any, do not match.
    func prepareLinks(_ service: RoutedService, _ way: Way) {
        if traits.has(.range) {
            head.fields.remove(.range)
            head.fields.remove(.ifRange)
            traits.presence.remove(.range)
        }
        guard traits.has(.conditional) else { return }
        head.fields.remove(.ifModifiedSince)
        if case .tags(let tags) = EntityTagList(.ifNoneMatch, in: head.fields) {
            let digest = linkMap(service, way).digest
            let known = tags.compactMap { LinkTag.original(of: $0, digest: digest)?.octets }
            head.fields.remove(.ifNoneMatch)
            if !known.isEmpty {
                Array(known.joined(separator: Array(", ".utf8)))
                    .withUnsafeBytes { head.fields.append(.ifNoneMatch, bytes: $0) }
            }
        }
        if case .tags(let tags) = EntityTagList(.ifMatch, in: head.fields) {
            let digest = linkMap(service, way).digest
            let named = tags.map { (LinkTag.original(of: $0, digest: digest) ?? $0).octets }
            head.fields.remove(.ifMatch)
            Array(named.joined(separator: Array(", ".utf8))).withUnsafeBytes { head.fields.append(.ifMatch, bytes: $0) }
        }
        let conditions = [FieldName.ifNoneMatch, .ifMatch, .ifUnmodifiedSince]
        if !conditions.contains(where: head.fields.contains) { traits.presence.remove(.conditional) }
    }

    /// Starts mapping the links of the response's content, where there may be some, and adjusts its fields.
    func beginLinks(
        in fields: inout Fields, of status: Status, _ service: RoutedService, _ way: Way,
        _ configuration: EffectiveConfiguration
    ) {
        links = nil
        guard way.isGateway, configuration.mapsLinks else { return }
        let map = linkMap(service, way)
        if fields.contains(.wwwAuthenticate) {
            let challenges = fields[all: .wwwAuthenticate]
            fields.remove(.wwwAuthenticate)
            for challenge in challenges {
                var scanner = LinkScanner(map)
                fields.append(
                    .wwwAuthenticate, String(decoding: scanner.take(challenge.utf8, isLast: true), as: UTF8.self))
            }
        }
        guard status != 206, !fields.hasNoTransform, status == 304 || mayHaveLinks(fields),
            let coding = ServedCoding(of: fields), let stream = LinkStream(map, undoing: coding)
        else { return }
        for name: FieldName in [
            .contentEncoding, .contentLength, .acceptRanges, .contentDigest, .reprDigest, .contentMD5,
        ] {
            fields.remove(name)
        }
        if let tag = fields.entityTag {
            fields.remove(.eTag)
            // The date does not distinguish two mappings.
            fields.remove(.lastModified)
            LinkTag.make(tag, digest: map.digest)?.octets.withUnsafeBytes { fields.append(.eTag, bytes: $0) }
        }
        if !status.hasNoContent { links = stream }
    }

    private func linkMap(_ service: RoutedService, _ way: Way) -> LinkMap {
        LinkMap(
            of: context.configuration.router.table, for: service, way,
            authority: head.fields[first: .host] ?? connection.client.localHost, isSecure: stream.isSecure, at: uri)
    }

    /// Whether content may have links, by its type: JSON and HTML, and URLs ending in `.json` without a type.
    private func mayHaveLinks(_ fields: Fields) -> Bool {
        guard let type = fields[.contentType].flatMap({ MediaType($0) }) else { return uri.path.hasSuffix(".json") }
        switch type.essence {
        case "application/json", "text/html", "application/xhtml+xml": return true
        case "text/plain", "application/octet-stream", "binary/octet-stream": return uri.path.hasSuffix(".json")
        default: return type.subtype.hasSuffix("+json") || type.subtype.hasSuffix("+html")
        }
    }
}

extension Fields {
    fileprivate var hasNoTransform: Bool {
        self[.cacheControl].map { $0.lowercased().contains("no-transform") } ?? false
    }
}
