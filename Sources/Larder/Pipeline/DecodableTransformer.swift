// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// JSON to a `Decodable` type of your own: for the stage `model`, behind the standard transformer for JSON, or anywhere
/// in its place.
///
/// Content that has the type already passes unchanged. Error responses are not transformed.
public struct DecodableTransformer<Model: Decodable & Sendable>: ResponseTransformer {
    public let transformerDescription: String
    private let makeDecoder: @Sendable () -> JSONDecoder

    /// Makes a transformer. `decoder` makes the JSON decoder; it is called for each response.
    public init(_ type: Model.Type = Model.self, decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }) {
        transformerDescription = "JSON → \(Model.self)"
        makeDecoder = decoder
    }

    public func applies(to response: Response) -> Bool {
        guard case .success(let entity) = response else { return false }
        return !entity.hasNoContent
    }

    public func process(_ response: Response) -> Response {
        guard applies(to: response), case .success(let entity) = response, !(entity.content is Model) else {
            return response
        }
        func failure(_ cause: any Error, _ message: String?) -> Response {
            .failure(
                RequestError(
                    status: entity.status, entity: entity, cause: cause, userMessage: message,
                    timestamp: entity.timestamp))
        }
        guard let octets = entity.octets else {
            return failure(
                WrongInputTypeInTransformerPipeline(
                    expected: "JSON", actual: String(describing: type(of: entity.content as Any)),
                    transformer: transformerDescription), nil)
        }
        do {
            return .success(
                entity.withContent(try makeDecoder().decode(Model.self, from: Data(octets)) as any Sendable))
        } catch {
            return failure(error, RequestError.unparsable)
        }
    }
}

extension ResponseTransformer {
    /// JSON to a type of your own, as in `.decodable(User.self)`.
    public static func decodable<Model: Decodable & Sendable>(
        _ type: Model.Type, decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
    ) -> Self where Self == DecodableTransformer<Model> {
        DecodableTransformer(type, decoder: decoder)
    }
}
