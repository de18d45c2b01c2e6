// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// A request before it is sent: configuration, callers and mutators may change it.
public struct OutgoingRequest: Sendable, Equatable {
    /// The method.
    public var method: Method
    /// The target URI.
    public var url: TargetURI
    /// The fields to send, besides those of framing and connection.
    public var fields: Fields
    /// The content, or nil for none.
    public var body: [UInt8]?

    /// Makes a request of its parts.
    public init(method: Method = .get, url: TargetURI, fields: Fields = Fields(), body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}

/// A response as received: status and fields, and the whole content; a response without content has empty content.
public typealias IncomingResponse = Message<ResponseHead, [UInt8]>

/// Content to send with a request, and its type.
public struct RequestBody: Sendable {
    enum Form: Sendable {
        case none
        case octets([UInt8], contentType: String)
        case impossible(any Error)
    }

    let form: Form

    /// No content.
    public static let none = RequestBody(form: .none)

    /// Bytes of a given type.
    public static func data(_ octets: [UInt8], contentType: String) -> RequestBody {
        RequestBody(form: .octets(octets, contentType: contentType))
    }

    /// Text in an encoding, which the content type names. Fails with `UnencodableText`.
    public static func text(
        _ text: String, contentType: String = "text/plain", encoding: TextEncoding = .utf8
    ) -> RequestBody {
        guard let octets = encoding.encode(text) else {
            return RequestBody(form: .impossible(UnencodableText(encoding: encoding, text: text)))
        }
        return data(octets, contentType: "\(contentType); charset=\(encoding.name)")
    }

    /// A JSON object or array. Fails with `InvalidJSONObject` for anything else.
    public static func json(_ value: JSONValue, contentType: String = "application/json") -> RequestBody {
        guard value.object != nil || value.array != nil else {
            return RequestBody(form: .impossible(InvalidJSONObject(type: value.typeName)))
        }
        return data(value.octets, contentType: contentType)
    }

    /// An object of values that are JSON or `Encodable`, as `["price": 1.5, "name": name]`. Fails with
    /// `InvalidJSONObject` where one is neither.
    @_disfavoredOverload
    public static func json(_ object: [String: Any], contentType: String = "application/json") -> RequestBody {
        json(JSONValue(object), contentType: contentType)
    }

    /// An array of such values.
    @_disfavoredOverload
    public static func json(_ array: [Any], contentType: String = "application/json") -> RequestBody {
        json(JSONValue(array), contentType: contentType)
    }

    private static func json(_ value: JSONValue?, contentType: String) -> RequestBody {
        value.map { .json($0, contentType: contentType) }
            ?? RequestBody(form: .impossible(InvalidJSONObject(type: "value with a part that is none")))
    }

    /// A form: names and values percent-encoded and sorted. Fails with `NotURLEncodable` for a parameter with an empty
    /// name, which forms cannot express.
    public static func urlEncoded(_ parameters: [String: String]) -> RequestBody {
        if parameters.keys.contains("") { return RequestBody(form: .impossible(NotURLEncodable(name: ""))) }
        let pairs = parameters.map { PercentEncoding.parameter($0.key) + "=" + PercentEncoding.parameter($0.value) }
        return data(Array(pairs.sorted().joined(separator: "&").utf8), contentType: "application/x-www-form-urlencoded")
    }
}

/// Sends requests to origins and returns their responses.
///
/// One call is one request: it is sent when the call begins and answered when it returns. Cancelling the calling task
/// cancels the request. A transport that follows redirects does so by itself.
public protocol UpstreamTransport: Sendable {
    /// Sends `request`, and reports the transfer to `progress` if the transport can.
    ///
    /// Throws whatever went wrong; a `TransportFailure` can contain the part received by then.
    func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse
}

/// A transport that is a function.
public struct ClosureTransport: UpstreamTransport {
    private let body: @Sendable (OutgoingRequest, TransferProgress) async throws -> IncomingResponse

    /// Makes a transport of a function.
    public init(_ body: @escaping @Sendable (OutgoingRequest, TransferProgress) async throws -> IncomingResponse) {
        self.body = body
    }

    public func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse {
        try await body(request, progress)
    }
}
