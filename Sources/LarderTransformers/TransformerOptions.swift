// SPDX-License-Identifier: Apache-2.0
package import Larder

/// The options of all transformers of this module.
package struct TransformerOptions: Sendable {
    /// How to handle content of a type that the transformer does not accept.
    package var onMismatch: InputTypeMismatchAction = .error
    /// True if the content of error responses is transformed too; where that fails, the error stays unchanged.
    package var transformErrors = false
    /// The largest output in bytes.
    package var sizeLimit = 256 << 20

    package init() {}
}

/// A transformer from entity to entity with options for other types and for errors.
///
/// Absent content is not transformed. Returning nil is the error `TransformerReturnedNil`; a thrown `WrongContent` is
/// handled according to `onMismatch`; any other error becomes the cause of an error.
struct EntityTransformer: WaitingTransformer {
    let transformerDescription: String
    let options: TransformerOptions
    /// The input type, in words.
    let takes: String
    /// True if content has the output type, for `skipIfOutputTypeMatches`.
    let isOutput: @Sendable (any Sendable) -> Bool
    /// Makes the new entity. The work must end at the deadline if it waits for other processes.
    let body: @Sendable (AnyEntity, TransformDeadline?) throws -> AnyEntity?
    /// The inputs of `body` besides the entity.
    var details = ""
    /// The threads on which `body` waits; nil if it does not wait.
    var threads: TransformerThreads?

    var fingerprint: String { "\(transformerDescription) \(details) \(options)" }

    /// Thrown by `body` when the content has a type that it does not accept.
    struct WrongContent: Error {}

    func applies(to response: Response) -> Bool {
        guard let entity = response.entity, (entity.content as? [UInt8])?.isEmpty != true else { return false }
        if case .failure = response { return options.transformErrors }
        return true
    }

    func process(_ response: Response, until deadline: TransformDeadline?) -> Response {
        guard applies(to: response), let entity = response.entity else { return response }
        switch (transform(entity, until: deadline), response) {
        case (let result, .success): return result
        case (.success(let transformed), .failure(var error)):
            error.entity = transformed
            return .failure(error)
        case (.failure, .failure): return response
        }
    }

    private func transform(_ entity: AnyEntity, until deadline: TransformDeadline?) -> Response {
        do {
            if let output = try body(entity, deadline) { return .success(output) }
            return failure(entity, TransformerReturnedNil(transformer: transformerDescription))
        } catch is WrongContent {
            return mismatch(entity)
        } catch {
            return failure(entity, error)
        }
    }

    private func mismatch(_ entity: AnyEntity) -> Response {
        switch options.onMismatch {
        case .skip: return .success(entity)
        case .skipIfOutputTypeMatches where isOutput(entity.content): return .success(entity)
        case .skipIfOutputTypeMatches, .error:
            return failure(
                entity,
                WrongInputTypeInTransformerPipeline(
                    expected: takes, actual: ContentType.name(of: entity.content), transformer: transformerDescription))
        }
    }

    private func failure(_ entity: AnyEntity, _ cause: any Error) -> Response {
        .failure(RequestError(status: entity.status, entity: entity, cause: cause, timestamp: entity.timestamp))
    }
}

/// The types of content in a daemon's pipelines, by their names in the settings.
package enum ContentType: String, Sendable, CaseIterable {
    /// Bytes as received, or as a program wrote them.
    case octets
    /// The output of `text`.
    case text
    /// The output of `json`, `jq` and `jsonPointer`.
    case json
    /// The output of `image`.
    case image

    func isType(of content: any Sendable) -> Bool {
        switch self {
        case .octets: content is [UInt8]
        case .text: content is String
        case .json: content is JSONValue
        case .image: content is ImageInfo
        }
    }

    static func name(of content: any Sendable) -> String {
        allCases.first { $0.isType(of: content) }?.rawValue ?? String(describing: type(of: content as Any))
    }
}
