// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// A request as it is about to be sent: what configuration, callers and mutators may change.
public struct OutgoingRequest: Sendable, Equatable {
    /// The method.
    public var method: Method
    /// Where the request goes.
    public var url: TargetURI
    /// The fields that are sent, besides those of framing and connection.
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

/// A response as it came: status and fields, and all of the content; a response without content has empty content.
public typealias IncomingResponse = Message<ResponseHead, [UInt8]>

/// Content to send with a request, and what it is.
public struct RequestBody: Sendable {
    enum Form: Sendable {
        case none
        case octets([UInt8], contentType: String)
        case impossible(any Error)
    }

    let form: Form

    /// No content.
    public static let none = RequestBody(form: .none)

    /// Octets of a given type.
    public static func data(_ octets: [UInt8], contentType: String) -> RequestBody {
        RequestBody(form: .octets(octets, contentType: contentType))
    }

    /// Text in an encoding, which the content type names. Fails with `UnencodableText`.
    public static func text(
        _ text: String, contentType: String = "text/plain", encoding: TextEncoding = .utf8
    ) -> RequestBody {
        guard let octets = encoding.encode(text) else {
            return RequestBody(form: .impossible(UnencodableText(encoding: encoding)))
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

    /// A form: names and values percent-encoded and put in order. Fails with `NotURLEncodable` for a parameter
    /// with an empty name, which no form can express.
    public static func urlEncoded(_ parameters: [String: String]) -> RequestBody {
        if parameters.keys.contains("") { return RequestBody(form: .impossible(NotURLEncodable(name: ""))) }
        let pairs = parameters.map { PercentEncoding.parameter($0.key) + "=" + PercentEncoding.parameter($0.value) }
        return data(Array(pairs.sorted().joined(separator: "&").utf8), contentType: "application/x-www-form-urlencoded")
    }
}

/// What carries requests to origins and brings back responses.
///
/// One call is one request: it is sent when the call begins and answered when it returns. Cancelling the calling
/// task gives the request up. A transport that follows redirects does so by itself.
public protocol UpstreamTransport: Sendable {
    /// Sends `request`. What has been transferred is told to `progress`, if the transport knows.
    ///
    /// Throws whatever went wrong; a `TransportFailure` can hold what had arrived by then.
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
