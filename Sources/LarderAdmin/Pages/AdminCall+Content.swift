// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// `/-/content`: stored content, decoded, for people to look at.
///
/// It may be from any origin, and shares the address of Larder's own pages: so browsers get it as bytes, except images
/// of types without scripts.
extension AdminCall {
    private static let contentLimit = 4 << 20
    private static let images = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]

    func content() async throws -> OwnResponse {
        let subject = try proxy.subject(of: parameters.required("url"))
        let fields = try parameters.fields("header")
        guard request.isLoopback else { throw Problem.contentIsForThisMachine }
        try checkAccess(to: subject)
        let variant: Variant?
        if let number = parameters.text("version") {
            variant = try await version(number, of: subject, fields)
        } else {
            variant = await self.variant(of: subject, fields, in: partition(of: subject, fields))
        }
        guard let variant else { throw Problem.unknownResource(subject.url) }
        let length = variant.content.length
        guard let octets = await variant.content.octets(upTo: AdminCall.contentLimit) else {
            throw Problem.unknownResource(subject.url)
        }
        return try await walkers.run { AdminCall.answer(octets, of: variant, length: Int64(length)) }
    }

    /// The stored variant selected by a request with these fields, else the newest. Those that a credential selects are
    /// for who has it, and for those who may make changes.
    private func variant(
        of subject: ResourceSubject, _ fields: Fields, in partition: Larder.Partition
    ) async -> Variant? {
        let key = subject.key(in: partition)
        var variants = proxy.registry.resource(for: key)?.memory.snapshot.variants ?? []
        if variants.isEmpty {
            let configuration = subject.service.configuration(for: subject.uri, method: subject.method)
            variants =
                await proxy.diskTier?.peek(
                    key.url, partition: partition, service: subject.service.name, configuration) ?? []
        }
        return variants.first { $0.stored.variance.matches(fields) }
            ?? variants.first { mayChange || !$0.stored.variance.isByCredential }
    }

    private static func answer(_ octets: [UInt8], of variant: Variant, length: Int64) -> OwnResponse {
        let codings = ContentCodings(variant.served.fields[.contentEncoding])
        let isWhole = Int64(octets.count) == length
        let content = isWhole ? (try? codings.decode(octets, limit: contentLimit)) ?? octets : octets
        let type = variant.served.fields[.contentType] ?? "application/octet-stream"
        let image = MediaType(lenient: type).map(\.essence).flatMap { images.contains($0) ? $0 : nil }
        var fields: Fields = [
            "Content-Security-Policy": "default-src 'none'; sandbox", "Larder-Content-Type": type,
            "Larder-Content-Length": "\(length)",
        ]
        if image == nil { fields["Content-Disposition"] = "attachment" }
        return OwnResponse(type: image ?? "application/octet-stream", content, fields: fields)
    }
}

extension VariantContent {
    /// Its first bytes; nil when they cannot be read.
    fileprivate func octets(upTo limit: Int) async -> [UInt8]? {
        switch self {
        case .memory(let chunks, _): return Array(chunks.flatMap(\.bytes).prefix(limit))
        case .store(let source):
            guard let reader = try? await source.open() else { return nil }
            let end = min(source.length, Int64(limit))
            var octets: [UInt8] = []
            while Int64(octets.count) < end {
                let count = Int(end) - octets.count
                guard let chunk = try? await reader.read(at: Int64(octets.count), count: count), chunk.count > 0
                else { return nil }
                octets += chunk.bytes
            }
            return octets
        }
    }
}

extension Problem {
    static let contentIsForThisMachine = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "Stored content is shown to clients on this machine.",
        advice: "Ask for it through the gateway, or use `larder get` there.")
}
