// SPDX-License-Identifier: Apache-2.0
package import Larder

/// There is nothing where a pointer points to.
package struct JSONPointerFoundNothing: Error, Hashable, Sendable, CustomStringConvertible {
    package let pointer: JSONPointer
    package var description: String { "there is nothing at '\(pointer)' in the response" }
}

extension Entity where Content == any Sendable {
    /// The content as JSON: what a transformer made, or what octets or text say.
    func json(limit: Int) throws -> JSONValue {
        if let value = content as? JSONValue { return value }
        if let text = content as? String { return try JSONValue(parsing: text) }
        guard let octets = try decoded(limit: limit).content as? [UInt8] else { throw EntityTransformer.WrongContent() }
        return try JSONValue(parsing: octets)
    }

    /// The same entity around JSON, which is in no coding.
    func withJSON(_ value: JSONValue) -> AnyEntity {
        var result = withContent(value as any Sendable)
        result.fields.remove(.contentEncoding)
        return result
    }
}

extension Transformers {
    static let jsonSources = "json, text or octets"

    /// Keeps what is at one place of a JSON value, then leaves out what is at others of what was kept.
    package static func jsonPointer(
        select: JSONPointer?, omit: [JSONPointer], _ options: TransformerOptions
    ) -> some ResponseTransformer {
        EntityTransformer(
            transformerDescription: "jsonPointer", options: options, takes: jsonSources,
            isOutput: { $0 is JSONValue },
            body: { entity in
                var value = try entity.json(limit: options.sizeLimit)
                if let select {
                    guard let selected = select.value(in: value) else { throw JSONPointerFoundNothing(pointer: select) }
                    value = selected
                }
                for pointer in omit { value = pointer.removing(from: value) }
                return entity.withJSON(value)
            }, details: "\(select.map { "\($0)" } ?? "") without \(omit.map { "\($0)" })")
    }

    /// Takes the message that is shown for an error from a place in the JSON that came with it. Without text there,
    /// the message stays.
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

/// A transformer of errors that came with content.
struct ErrorTransformer: ResponseTransformer {
    /// How many octets of an error response are looked at.
    static let contentLimit = 1 << 20
    /// How long a message may be, in characters.
    static let messageLimit = 1_000

    let transformerDescription: String
    /// What `body` depends on besides the error.
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
