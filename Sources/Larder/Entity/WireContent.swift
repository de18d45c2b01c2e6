// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// Bytes and their type, as they are sent to a client.
public struct WireContent: Sendable, Equatable {
    /// The bytes.
    public var octets: [UInt8]
    /// The media type, or nil to keep the entity's.
    public var contentType: String?

    /// Makes content of bytes and their type.
    public init(octets: [UInt8], contentType: String? = nil) {
        self.octets = octets
        self.contentType = contentType
    }
}

/// Content that can be sent to clients: make your models conform to serve the output of the pipeline.
public protocol WireEncodable: Sendable {
    /// The content as bytes, and their type.
    func wireContent() throws -> WireContent
}

extension Array: WireEncodable where Element == UInt8 {
    public func wireContent() -> WireContent { WireContent(octets: self) }
}

extension String: WireEncodable {
    public func wireContent() -> WireContent {
        WireContent(octets: Array(utf8), contentType: "text/plain; charset=utf-8")
    }
}

extension JSONValue: WireEncodable {
    /// - Throws: where it is nested more deeply than `depthLimit`, which no parser here would read.
    public func wireContent() throws -> WireContent {
        guard let octets = octets(levels: JSONValue.depthLimit) else { throw JSONTooDeep() }
        return WireContent(octets: octets, contentType: "application/json")
    }
}

extension JSONObject: WireEncodable {
    public func wireContent() throws -> WireContent { try JSONValue.object(self).wireContent() }
}

private struct JSONTooDeep: Error, CustomStringConvertible {
    var description: String {
        "the JSON cannot be sent: its arrays and objects are nested more than \(JSONValue.depthLimit) levels deep"
    }
}

/// The content is of a type that does not conform to `WireEncodable`.
public struct ContentNotEncodable: Error, Sendable, CustomStringConvertible {
    /// The type's name.
    public let type: String

    /// Makes the error for a type.
    public init(type: String) { self.type = type }

    public var description: String { "content of type \(type) cannot be sent: it does not conform to WireEncodable" }
}

extension Entity {
    /// This entity as clients receive it: content as bytes, and fields without the fields that described the origin's
    /// bytes (length, codings, validators, digests).
    public func encodedForWire() throws -> Entity<[UInt8]> {
        // An array is encodable in its own right where it has bytes.
        let elements = type(of: content as Any) == [JSONValue].self ? content as? [JSONValue] : nil
        let encodable = elements.map { JSONValue.array($0) as any WireEncodable } ?? content as? any WireEncodable
        guard let encodable else {
            throw ContentNotEncodable(type: String(describing: type(of: content as Any)))
        }
        let wire = try encodable.wireContent()
        var result = withContent(wire.octets)
        WireFields.removeThoseOfOriginalOctets(from: &result.fields)
        if let type = wire.contentType {
            result.fields[.contentType] = WireFields.type(fields[first: .contentType], encodedAs: type)
        }
        return result
    }
}

/// Fields that describe the bytes of a message's content.
package enum WireFields {
    private static let ofOriginalOctets: [FieldName] = [
        .contentLength, .contentEncoding, .contentRange, .acceptRanges, .eTag, .lastModified, .contentDigest,
        .reprDigest,
        .digest, .contentMD5, .transferEncoding,
    ]

    /// Removes the fields that are no longer true once the bytes have changed.
    package static func removeThoseOfOriginalOctets(from fields: inout Fields) {
        for name in ofOriginalOctets { fields.remove(name) }
    }

    /// The type for content that was encoded as `encoded`, and that the origin called `own`: the origin's more specific
    /// name where it is of the same family, with the encoding it has now.
    fileprivate static func type(_ own: String?, encodedAs encoded: String) -> String {
        guard let own = own.flatMap({ MediaType(lenient: $0) }), let new = MediaType(encoded) else { return encoded }
        if new.subtype == "json" {
            return own.isJSON ? own.essence : encoded
        }
        if new.type == "text" { return own.type == "text" ? own.essence + "; charset=utf-8" : encoded }
        return encoded
    }
}
