// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// Something that may hold an entity whose content one wants as a certain type: resources, entities, errors.
///
/// Extend it with accessors for your own models.
public protocol TypedContentAccessors {
    /// The entity whose content the accessors read.
    var entityForTypedContent: AnyEntity? { get }
}

extension TypedContentAccessors {
    /// The content as `Content`, or nil when there is none or it is something else.
    public func typedContent<Content: Sendable>(as type: Content.Type = Content.self) -> Content? {
        // Without an entity an optional `Content` would be nil, and not missing.
        guard let content = entityForTypedContent?.content else { return nil }
        return content as? Content
    }

    /// The content as `Content`, or `fallback`, which is evaluated only then.
    public func typedContent<Content: Sendable>(ifNone fallback: @autoclosure () -> Content) -> Content {
        typedContent() ?? fallback()
    }

    /// The content as text, or an empty string.
    public var text: String { typedContent(ifNone: "") }

    /// The content as JSON: a `JSONValue`, a `JSONObject`, an array of `JSONValue`, or an `Encodable` value, which each
    /// call encodes anew; nil for text, for bytes and for any other type.
    public var json: JSONValue? { entityForTypedContent.flatMap { JSONValue(content: $0.content) } }

    /// The members of the content if it is a JSON object, or none.
    public var jsonObject: JSONObject { json?.object ?? JSONObject() }

    /// The elements of the content if it is a JSON array, or none.
    public var jsonArray: [JSONValue] { json?.array ?? [] }

    /// The content as bytes: bytes as they are, text in UTF-8, JSON as it is written; nil for anything else.
    public var octets: [UInt8]? {
        switch entityForTypedContent?.content {
        case let elements as [JSONValue] where json != nil: JSONValue.array(elements).octets
        case let octets as [UInt8]: octets
        case let text as String: Array(text.utf8)
        case let data as Data: Array(data)
        default: json?.octets
        }
    }
}

extension Entity: TypedContentAccessors {
    public var entityForTypedContent: AnyEntity? { erased }
}
