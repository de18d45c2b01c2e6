// SPDX-License-Identifier: Apache-2.0
package import Larder
package import LarderCodings

/// The transformers that settings name.
package enum Transformers {}

extension Transformers {
    /// Undoes all content codings that `Content-Encoding` names; other responses pass unchanged.
    package static func decode(_ options: TransformerOptions) -> some ResponseTransformer {
        Conditional(
            transformer: EntityTransformer(
                transformerDescription: "decode", options: options, takes: ContentType.octets.rawValue,
                isOutput: { $0 is [UInt8] },
                body: { entity, _ in
                    guard entity.content is [UInt8] else { throw EntityTransformer.WrongContent() }
                    return try entity.decoded(limit: options.sizeLimit)
                }),
            condition: { !$0.contentCodings.isEmpty })
    }

    /// Decodes one content coding if it is the outermost coding in `Content-Encoding`; with `always`, decodes in any
    /// case.
    package static func decode(
        _ coding: ContentCoding, named name: String, always: Bool = false, _ options: TransformerOptions
    ) -> some ResponseTransformer {
        Conditional(
            transformer: EntityTransformer(
                transformerDescription: name, options: options, takes: ContentType.octets.rawValue,
                isOutput: { $0 is [UInt8] },
                body: { entity, _ in try entity.decoded(coding, limit: options.sizeLimit) },
                details: always ? "always" : ""),
            condition: { always || $0.contentCodings.last == coding })
    }

    /// A standard transformer for content of its usual types, which sees bytes with their codings undone.
    package static func standard(_ kind: ContentType, _ options: TransformerOptions) -> StandardTransformer? {
        func decoding(_ transformer: some ResponseTransformer) -> DecodingFirst {
            DecodingFirst(transformer: transformer, sizeLimit: options.sizeLimit)
        }
        func standard(_ usual: StandardTransformer, _ transformer: DecodingFirst) -> StandardTransformer {
            StandardTransformer(name: usual.name, contentTypes: usual.contentTypes, transformer: transformer)
        }
        switch kind {
        case .octets: return nil
        case .json: return standard(.json, decoding(StandardTransformer.jsonTransformer()))
        case .text: return standard(.text, decoding(StandardTransformer.textTransformer()))
        case .image: return standard(.image, decoding(StandardTransformer.imageTransformer()))
        }
    }

    /// A standard transformer for content of any type, with its own options.
    package static func parsing(_ kind: ContentType, _ options: TransformerOptions) -> any ResponseTransformer {
        let isTransformingErrors = options.transformErrors
        let parser: any ResponseTransformer =
            switch kind {
            case .octets, .json: StandardTransformer.jsonTransformer(transformErrors: isTransformingErrors)
            case .text: StandardTransformer.textTransformer(transformErrors: isTransformingErrors)
            case .image: StandardTransformer.imageTransformer(transformErrors: isTransformingErrors)
            }
        return Conditional(
            transformer: DecodingFirst(transformer: parser, sizeLimit: options.sizeLimit),
            condition: { entity in
                switch options.onMismatch {
                case .error: true
                case .skip: entity.content is [UInt8]
                case .skipIfOutputTypeMatches: !kind.isType(of: entity.content)
                }
            })
    }
}

/// A transformer for the entities that fulfil a condition.
struct Conditional: ResponseTransformer {
    let transformer: any ResponseTransformer
    let condition: @Sendable (AnyEntity) -> Bool

    var transformerDescription: String { transformer.transformerDescription }
    var fingerprint: String { "\(transformer.fingerprint) on a condition" }

    func applies(to response: Response) -> Bool {
        guard let entity = response.entity else { return false }
        return condition(entity) && transformer.applies(to: response)
    }

    func process(_ response: Response) -> Response { applies(to: response) ? transformer.process(response) : response }
}
