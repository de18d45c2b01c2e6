// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderRules

/// Content with its metadata: the data of a resource, the result of a request, and the input and output of each stage
/// of a pipeline.
///
/// Content starts as bytes (`[UInt8]`); transformers may replace it with content of any type.
public struct Entity<Content: Sendable>: Sendable {
    /// The content as the origin sent it, or as transformers changed it.
    public var content: Content
    /// The response's fields, without the fields that describe the transfer.
    public var fields: Fields
    /// The status of the response; 200 for local content.
    public var status: Status
    /// When the content was last known to be valid.
    public var timestamp: Timestamp
    /// When the request for it was sent (RFC 9111 §4.2.3); nil for local content.
    public var requestTime: Timestamp?
    /// When the response arrived; nil for local content.
    public var responseTime: Timestamp?
    /// True if `overrideLocalData` set the content. The content's validators are then not the origin's, so they are
    /// never sent.
    public internal(set) var isLocalOverride = false
    private var explicitCharset: String?

    /// Makes an entity of content and its metadata.
    public init(
        content: Content, fields: Fields = Fields(), status: Status = 200, charset: String? = nil, timestamp: Timestamp,
        requestTime: Timestamp? = nil, responseTime: Timestamp? = nil
    ) {
        self.content = content
        self.fields = fields
        self.status = status
        self.timestamp = timestamp
        self.requestTime = requestTime
        self.responseTime = responseTime
        explicitCharset = charset
    }

    /// Makes an entity of content and its type, for content that does not come from an origin.
    public init(
        content: Content, contentType: String, charset: String? = nil, fields: Fields = Fields(), timestamp: Timestamp
    ) {
        self.init(content: content, fields: fields, charset: charset, timestamp: timestamp)
        self.fields[.contentType] = contentType
    }

    /// The media type with its parameters; `application/byte-stream` when none was given.
    public var contentType: String { fields[first: .contentType] ?? "application/octet-stream" }

    /// The name of the character encoding: the one given to `init`, else the content type's parameter.
    public var charset: String? { explicitCharset ?? MediaType(lenient: contentType)?.parameters["charset"] }

    /// The entity tag as received, quotes and weakness included.
    public var eTag: String? { fields[first: .eTag] }

    /// The combined value of a field, regardless of case; nil when the field is absent or `name` is not a field name.
    public func field(_ name: String) -> String? { FieldName(name).flatMap { fields[$0] } }

    /// Marks the content as valid at an instant.
    public mutating func touch(at now: Timestamp) { timestamp = now }

    /// The same entity around other content.
    public func withContent<Other: Sendable>(_ content: Other) -> Entity<Other> {
        var copy = Entity<Other>(
            content: content, fields: fields, status: status, charset: explicitCharset, timestamp: timestamp,
            requestTime: requestTime, responseTime: responseTime)
        copy.isLocalOverride = isLocalOverride
        return copy
    }

    /// The same entity with its content as `Other`, or nil when the content has another type.
    public func withContentRetyped<Other: Sendable>(as type: Other.Type = Other.self) -> Entity<Other>? {
        (content as? Other).map(withContent)
    }

    /// The same entity with the type of its content erased.
    public var erased: Entity<any Sendable> { withContent(content as any Sendable) }
}

/// An entity with content of any type, as resources and pipelines use it.
public typealias AnyEntity = Entity<any Sendable>

extension Entity {
    /// The entity after a 304 for it, valid as of `now` (RFC 9111 §3.2, §4.3.4). Newer fields replace older fields,
    /// except fields that describe the content itself.
    func freshened(by head: ResponseHead, requestTime: Timestamp?, at now: Timestamp) -> Entity {
        var copy = self
        copy.fields = Freshening.merged(fields, with: head.fields)
        copy.timestamp = now
        copy.requestTime = requestTime
        copy.responseTime = now
        return copy
    }
}
