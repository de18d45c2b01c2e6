// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderCodings
import LarderHTTP

/// An unknown content coding, because of which the content cannot be decoded.
package struct UnknownContentCoding: Error, Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package var description: String { "the content is in the coding '\(name)', which cannot be undone here" }
}

extension Entity where Content == any Sendable {
    /// The codings of the content in the order they were applied (RFC 9110 §8.4); `identity` is none.
    var contentCodings: [String] {
        (fields[.contentEncoding] ?? "").split(separator: ",").map(ContentDecoding.trimmed)
            .filter { !$0.isEmpty && $0.lowercased() != "identity" }
    }

    /// The entity with its octets decoded; unchanged when its content is something else.
    func decoded(limit: Int) throws -> AnyEntity {
        guard var octets = content as? [UInt8], !octets.isEmpty else { return self }
        let codings = contentCodings
        guard !codings.isEmpty else { return self }
        for name in codings.reversed() {
            guard let coding = ContentCoding(token: name) else { throw UnknownContentCoding(name: name) }
            octets = try coding.decode(octets, limit: limit)
        }
        var result = withContent(octets as any Sendable)
        result.fields.remove(.contentEncoding)
        result.fields.remove(.contentLength)
        return result
    }

    /// The entity decoded from one coding, which is the last of its codings or not among them.
    func decoded(_ coding: ContentCoding, limit: Int) throws -> AnyEntity {
        guard let octets = content as? [UInt8] else { throw EntityTransformer.WrongContent() }
        var result = withContent(try coding.decode(octets, limit: limit) as any Sendable)
        var codings = contentCodings
        if codings.last.flatMap({ ContentCoding(token: $0) }) == coding { codings.removeLast() }
        result.fields[.contentEncoding] = codings.isEmpty ? nil : codings.joined(separator: ", ")
        result.fields.remove(.contentLength)
        return result
    }
}

enum ContentDecoding {
    static func trimmed(_ text: some StringProtocol) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var rest = Array(text.utf8)[...]
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(decoding: rest, as: UTF8.self)
    }
}

/// Decodes the content before another transformer sees the octets, so that its result does not depend on the coding
/// that the origin chose.
struct DecodingFirst: WaitingTransformer {
    let transformer: any ResponseTransformer
    let sizeLimit: Int

    var transformerDescription: String { transformer.transformerDescription }
    var fingerprint: String { "\(transformer.fingerprint) of what is decoded up to \(sizeLimit)" }

    func applies(to response: Response) -> Bool { transformer.applies(to: response) }

    var threads: TransformerThreads? { transformer.ownThreads }

    func process(_ response: Response, until deadline: TransformDeadline?) -> Response {
        guard applies(to: response), let entity = response.entity else { return response }
        do {
            let decoded = try entity.decoded(limit: sizeLimit)
            guard case .failure(var error) = response else {
                return transformer.transform(.success(decoded), until: deadline)
            }
            error.entity = decoded
            let result = transformer.transform(.failure(error), until: deadline)
            // Content that it did not change stays as the origin sent it.
            if case .failure(let same) = result, let content = same.entity?.content as? [UInt8],
                content == decoded.content as? [UInt8]
            {
                return response
            }
            return result
        } catch {
            guard case .success = response else { return response }
            return .failure(
                RequestError(status: entity.status, entity: entity, cause: error, timestamp: entity.timestamp))
        }
    }
}
