// SPDX-License-Identifier: Apache-2.0

/// A built-in transformer, with its content types and its stage.
public struct StandardTransformer: Sendable {
    /// Names the transformer in logs and configuration.
    public let name: String
    /// The stage it is put into unless another is asked for.
    public let stage: PipelineStageKey
    /// The content types it is for.
    public let contentTypes: [ContentTypePattern]
    let transformer: any ResponseTransformer

    /// Makes a transformer to be used like the standard ones.
    public init(
        name: String, stage: PipelineStageKey = .parsing, contentTypes: [ContentTypePattern],
        transformer: some ResponseTransformer
    ) {
        self.name = name
        self.stage = stage
        self.contentTypes = contentTypes
        self.transformer = transformer
    }

    /// JSON objects and arrays as `JSONValue`, in error responses too.
    public static let json = StandardTransformer(
        name: "json", contentTypes: ["*/json", "*/*+json"], transformer: jsonTransformer())

    /// Text as `String`, in error responses too; ISO-8859-1 when the charset is not given.
    public static let text = StandardTransformer(name: "text", contentTypes: ["text/*"], transformer: textTransformer())

    /// Images as `ImageInfo`.
    public static let image = StandardTransformer(
        name: "image", contentTypes: ["image/*"], transformer: imageTransformer())

    /// Bytes to `JSONValue`; values that are neither object nor array are refused.
    public static func jsonTransformer(transformErrors: Bool = true) -> some ResponseTransformer {
        ResponseContentTransformer("json", transformErrors: transformErrors) {
            (entity: Entity<[UInt8]>) throws -> JSONValue? in
            let value = try JSONValue(parsing: entity.content)
            guard value.object != nil || value.array != nil else {
                throw RequestError(
                    status: entity.status, entity: entity.erased,
                    cause: JSONResponseIsNotDictionaryOrArray(type: value.typeName), timestamp: entity.timestamp)
            }
            return value
        }
    }

    /// Bytes to `String` by the entity's charset.
    public static func textTransformer(transformErrors: Bool = true) -> some ResponseTransformer {
        ResponseContentTransformer("text", transformErrors: transformErrors) {
            (entity: Entity<[UInt8]>) throws -> String? in
            let name = entity.charset ?? "iso-8859-1"
            func failure(_ cause: any Error) -> RequestError {
                RequestError(status: entity.status, entity: entity.erased, cause: cause, timestamp: entity.timestamp)
            }
            guard let encoding = TextEncoding(named: name) else { throw failure(InvalidTextEncoding(name: name)) }
            guard let text = encoding.decode(entity.content) else { throw failure(UndecodableText(encoding: name)) }
            return text
        }
    }

    /// Bytes to `ImageInfo`.
    public static func imageTransformer(transformErrors: Bool = false) -> some ResponseTransformer {
        ResponseContentTransformer("image", transformErrors: transformErrors) {
            (entity: Entity<[UInt8]>) throws -> ImageInfo? in
            guard let image = ImageInfo(entity.content) else {
                throw RequestError(
                    status: entity.status, entity: entity.erased, cause: UnparsableImage(), timestamp: entity.timestamp)
            }
            return image
        }
    }
}

/// Standard transformers that stand together: the first one whose content types match is the one that runs.
struct StandardTransformers: ResponseTransformer {
    let members: [StandardTransformer]

    var transformerDescription: String { members.map(\.name).joined(separator: ", ") }

    var fingerprint: String {
        members.map { "\($0.name) \($0.transformer.fingerprint) for \($0.contentTypes.map(\.text))" }
            .joined(separator: ", ")
    }

    func applies(to response: Response) -> Bool { member(for: response)?.transformer.applies(to: response) ?? false }

    func process(_ response: Response) -> Response { member(for: response)?.transformer.process(response) ?? response }

    private func member(for response: Response) -> StandardTransformer? {
        guard let type = response.entity?.contentType else { return nil }
        return members.first { $0.contentTypes.contains { $0.matches(type) } }
    }
}
