// SPDX-License-Identifier: Apache-2.0
package import Larder

/// There is no value at a pointer's place.
package struct JSONPointerFoundNothing: Error, Hashable, Sendable, CustomStringConvertible {
    package let pointer: JSONPointer
    package var description: String { "there is nothing at '\(pointer)' in the response" }
}

extension Entity where Content == any Sendable {
    /// The content as JSON: a transformer's output, or parsed from bytes or text.
    func json(limit: Int) throws -> JSONValue {
        if let value = content as? JSONValue { return value }
        if let text = content as? String { return try JSONValue(parsing: text) }
        guard let octets = try decoded(limit: limit).content as? [UInt8] else { throw EntityTransformer.WrongContent() }
        return try JSONValue(parsing: octets)
    }

    /// The same entity with JSON as content, which has no coding.
    func withJSON(_ value: JSONValue) -> AnyEntity {
        var result = withContent(value as any Sendable)
        result.fields.remove(.contentEncoding)
        return result
    }
}

extension Transformers {
    static let jsonSources = "json, text or octets"

    /// Keeps the value at one place of a JSON value, then removes those at others from it.
    package static func jsonPointer(
        select: JSONPointer?, omit: [JSONPointer], _ options: TransformerOptions
    ) -> some ResponseTransformer {
        EntityTransformer(
            transformerDescription: "jsonPointer", options: options, takes: jsonSources,
            isOutput: { $0 is JSONValue },
            body: { entity, _ in
                var value = try entity.json(limit: options.sizeLimit)
                if let select {
                    guard let selected = select.value(in: value) else { throw JSONPointerFoundNothing(pointer: select) }
                    value = selected
                }
                for pointer in omit { value = pointer.removing(from: value) }
                return entity.withJSON(value)
            }, details: "\(select.map { "\($0)" } ?? "") without \(omit.map { "\($0)" })")
    }

    /// Takes the message for an error from a place in its JSON content. Without text there, the message stays.
    package static func errorMessage(
        from pointer: JSONPointer, _ options: TransformerOptions
    ) -> some ResponseTransformer {
        ErrorTransformer(transformerDescription: "errorMessageFrom", details: "\(pointer)") { error, entity in
            guard let value = try? entity.json(limit: min(options.sizeLimit, ErrorTransformer.contentLimit)),
                let text = pointer.value(in: value)?.string, !text.isEmpty
            else { return .failure(error) }
            var error = error
            error.userMessage = String(text.prefix(ErrorTransformer.messageLimit))
            return .failure(error)
        }
    }
}

/// A transformer of errors with content.
struct ErrorTransformer: ResponseTransformer {
    /// The most bytes of an error response that are parsed.
    static let contentLimit = 1 << 20
    /// The longest message, in characters.
    static let messageLimit = 1_000

    let transformerDescription: String
    /// The inputs of `body` besides the error.
    let details: String
    let body: @Sendable (RequestError, AnyEntity) -> Response

    var fingerprint: String { "\(transformerDescription) \(details)" }

    func applies(to response: Response) -> Bool {
        if case .failure(let error) = response { error.entity != nil } else { false }
    }

    func process(_ response: Response) -> Response {
        guard case .failure(let error) = response, let entity = error.entity else { return response }
        return body(error, entity)
    }
}
