// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// The mapping of links in content to Larder's URLs, for a client of the gateway (`CacheLookup.mapsLinks`). Confined to
/// its loop.
struct GatewayLinks {
    let request: ClientRequest
    let service: RoutedService

    /// Rewrites a request for content with mapped links for the origin, whose offsets and entity tags differ. Copies
    /// the client has with other links, or without any, do not match.
    func prepare() {
        if request.traits.has(.range) {
            request.editHead { head in
                head.fields.remove(.range)
                head.fields.remove(.ifRange)
            }
            request.traits.presence.remove(.range)
        }
        guard request.traits.has(.conditional) else { return }
        request.editHead { $0.fields.remove(.ifModifiedSince) }
        if case .tags(let tags) = EntityTagList(.ifNoneMatch, in: request.head.fields) {
            let digest = map.digest
            let known = tags.compactMap { LinkTag.original(of: $0, digest: digest)?.octets }
            let kept = Array(known.joined(separator: Array(", ".utf8)))
            request.editHead { head in
                head.fields.remove(.ifNoneMatch)
                if !kept.isEmpty { kept.withUnsafeBytes { head.fields.append(.ifNoneMatch, bytes: $0) } }
            }
        }
        restoreTags(in: .ifMatch)
        let conditions = [FieldName.ifNoneMatch, .ifMatch, .ifUnmodifiedSince]
        if !conditions.contains(where: request.head.fields.contains) { request.traits.presence.remove(.conditional) }
    }

    /// Replaces the entity tags that clients know with the origin's tags, for a write.
    func restoreConditions() {
        restoreTags(in: .ifMatch)
        restoreTags(in: .ifNoneMatch)
    }

    private func restoreTags(in name: FieldName) {
        let digest = map.digest
        request.editHead { $0.fields.replaceEntityTags(name) { LinkTag.original(of: $0, digest: digest) } }
    }

    /// Starts mapping the links of the response's content, and adjusts its fields. Nil where there are none.
    func begin(in fields: inout Fields, of status: Status) -> LinkStream? {
        let map = self.map
        if fields.contains(.wwwAuthenticate) {
            let challenges = fields[all: .wwwAuthenticate]
            fields.remove(.wwwAuthenticate)
            for challenge in challenges {
                var scanner = LinkScanner(map)
                fields.append(
                    .wwwAuthenticate, String(decoding: scanner.take(challenge.utf8, isLast: true), as: UTF8.self))
            }
        }
        guard status != 206, !CacheControl.Response(fields).flags.contains(.noTransform),
            status == 304 || mayHaveLinks(fields),
            let coding = ServedCoding(of: fields), let stream = LinkStream(map, undoing: coding)
        else { return nil }
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
        return status.hasNoContent ? nil : stream
    }

    private var map: LinkMap {
        LinkMap(
            of: request.context.configuration.router.table, for: service, request.form,
            authority: request.gatewayAuthority, isSecure: request.stream.isSecure, at: request.uri)
    }

    /// True if content may have links, by its type: JSON and HTML, and URLs ending in `.json` without a type.
    private func mayHaveLinks(_ fields: Fields) -> Bool {
        guard let type = fields[.contentType].flatMap({ MediaType($0) }) else {
            return request.uri.path.hasSuffix(".json")
        }
        switch type.essence {
        case "application/json", "text/html", "application/xhtml+xml": return true
        case "text/plain", "application/octet-stream", "binary/octet-stream": return request.uri.path.hasSuffix(".json")
        default: return type.subtype.hasSuffix("+json") || type.subtype.hasSuffix("+html")
        }
    }
}
