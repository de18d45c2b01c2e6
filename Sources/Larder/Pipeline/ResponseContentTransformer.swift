// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// How a content transformer handles content of another type than its input type.
public enum InputTypeMismatchAction: String, Sendable, Hashable, CaseIterable {
    /// The response becomes an error, `WrongInputTypeInTransformerPipeline`.
    case error
    /// The response passes unchanged.
    case skip
    /// The response passes unchanged if its content has the output type already, else it becomes that error.
    case skipIfOutputTypeMatches
}

/// A transformer from content of one type to content of another; fields and status stay.
///
/// Absent content (a response to HEAD, a 204) is not transformed. Returning nil is the error `TransformerReturnedNil`.
/// A thrown `RequestError` is the result itself; any other error becomes its cause. After an error the entity is still
/// the one that could not be transformed.
public struct ResponseContentTransformer<Input: Sendable, Output: Sendable>: ResponseTransformer {
    public let transformerDescription: String
    private let mismatchAction: InputTypeMismatchAction
    private let transformsErrors: Bool
    private let body: @Sendable (Entity<Input>) throws -> Output?

    /// Makes a transformer. `transformErrors` applies it to the content of error responses too; where that fails, the
    /// error stays unchanged.
    public init(
        _ description: String? = nil, onInputTypeMismatch: InputTypeMismatchAction = .error,
        transformErrors: Bool = false,
        _ body: @escaping @Sendable (Entity<Input>) throws -> Output?
    ) {
        transformerDescription = description ?? "transformer \(Input.self) → \(Output.self)"
        mismatchAction = onInputTypeMismatch
        transformsErrors = transformErrors
        self.body = body
    }

    public var fingerprint: String { "\(transformerDescription) \(mismatchAction) \(transformsErrors)" }

    public func applies(to response: Response) -> Bool {
        guard let entity = response.entity, !entity.hasNoContent else { return false }
        if case .failure = response { return transformsErrors }
        return true
    }

    public func process(_ response: Response) -> Response {
        guard applies(to: response) else { return response }
        switch response {
        case .success(let entity):
            return transform(entity)
        case .failure(var error):
            guard let entity = error.entity, case .success(let transformed) = transform(entity) else { return response }
            error.entity = transformed
            return .failure(error)
        }
    }

    private func transform(_ entity: AnyEntity) -> Response {
        guard let input = entity.withContentRetyped(as: Input.self) else { return mismatch(entity) }
        do {
            guard let output = try body(input) else {
                return failure(entity, TransformerReturnedNil(transformer: transformerDescription))
            }
            return .success(entity.withContent(output))
        } catch let error as RequestError {
            return .failure(error)
        } catch {
            return failure(entity, error, RequestError.unparsable)
        }
    }

    private func mismatch(_ entity: AnyEntity) -> Response {
        switch mismatchAction {
        case .skip: return .success(entity)
        case .skipIfOutputTypeMatches where entity.content is Output: return .success(entity)
        case .skipIfOutputTypeMatches, .error:
            return failure(
                entity,
                WrongInputTypeInTransformerPipeline(
                    expected: String(describing: Input.self),
                    actual: String(describing: type(of: entity.content as Any)),
                    transformer: transformerDescription))
        }
    }

    /// An error that still has the status and the content that could not be transformed.
    private func failure(_ entity: AnyEntity, _ cause: any Error, _ message: String? = nil) -> Response {
        .failure(
            RequestError(
                status: entity.status, entity: entity, cause: cause, userMessage: message, timestamp: entity.timestamp))
    }
}

extension Entity where Content == any Sendable {
    /// True if content is absent: no bytes, and none announced by the status.
    var hasNoContent: Bool { (content as? [UInt8])?.isEmpty ?? false }
}
