// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import Logging

/// Converts stored content to another coding, on the transforming threads: never on a loop.
///
/// Content being converted counts against `limits.transforming`; the result is limited to the longest response kept in
/// memory, which stops decompression bombs.
struct ContentRecoder {
    private let proxy: Proxy
    private let service: RoutedService
    /// The longest result.
    private let limit: Int

    init(_ proxy: Proxy, _ service: RoutedService, limit: Int) {
        (self.proxy, self.service, self.limit) = (proxy, service, limit)
    }

    func make(_ coding: ServedCoding, of variant: Variant, _ uri: TargetURI) async -> CodedForms.Making {
        guard let stored = variant.served.recoding?.stored, coding != stored else { return .impossible }
        do {
            guard
                let content = try await CollectedContent.read(
                    variant.content, in: proxy.transforming, for: service)
            else { return .busy }
            let limit = limit
            let product = try await proxy.transforming.run {
                try ContentRecoder.recode(content.joined(), from: stored, to: coding, limit: limit)
            }
            return product.map { .made($0) } ?? .impossible
        } catch let error as CodingError {
            proxy.logger.notice(
                "stored content cannot be given in another coding",
                metadata: [
                    "url": "\(SecretText.logged(url: uri.string))", "coding": "\(coding.rawValue)", "error": "\(error)",
                ])
            return .impossible
        } catch {
            return .busy
        }
    }

    /// Nil when encoding did not make the content shorter.
    static func recode(
        _ octets: [UInt8], from stored: ServedCoding, to coding: ServedCoding, limit: Int
    ) throws -> CodedForms.Product? {
        // No coding is called `identity`.
        let plain = try ContentCoding(rawValue: stored.rawValue)?.decode(octets, limit: limit) ?? octets
        let coded = try ContentCoding(rawValue: coding.rawValue)?.encode(plain) ?? plain
        guard coded.count <= limit, coding == .identity || coded.count < plain.count else { return nil }
        return CodedForms.Product(
            chunks: coded.isEmpty ? [] : [ContentChunk(coded)], length: coded.count,
            digest: String(ContentDigest(of: coded).hexadecimal.prefix(CodedTag.digestLength)))
    }
}
