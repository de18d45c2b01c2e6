// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderCodings
import LarderHTTP

extension Entity where Content == any Sendable {
    var contentCodings: ContentCodings { ContentCodings(fields[.contentEncoding]) }

    /// The entity with its bytes decoded; unchanged when its content is something else.
    func decoded(limit: Int) throws -> AnyEntity {
        let codings = contentCodings
        guard let octets = content as? [UInt8], !octets.isEmpty, !codings.isEmpty else { return self }
        var result = withContent(try codings.decode(octets, limit: limit) as any Sendable)
        result.fields.remove(.contentEncoding)
        result.fields.remove(.contentLength)
        return result
    }

    /// The entity decoded from one coding, which is the last of its codings or not among them.
    func decoded(_ coding: ContentCoding, limit: Int) throws -> AnyEntity {
        guard let octets = content as? [UInt8] else { throw EntityTransformer.WrongContent() }
        var result = withContent(try coding.decode(octets, limit: limit) as any Sendable)
        var codings = contentCodings
        if codings.last == coding { codings.removeLast() }
        result.fields[.contentEncoding] = codings.field
        result.fields.remove(.contentLength)
        return result
    }
}

/// Decodes the content before another transformer sees the bytes, so that its result does not depend on the coding
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
