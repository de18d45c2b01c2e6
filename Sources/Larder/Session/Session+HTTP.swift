// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// A response that is not an HTTP response, or no response at all.
public enum SessionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The response is not a `ResponseHead`.
    case notHTTPResponse
    /// A transport failed without saying why.
    case unknownError

    public var description: String {
        switch self {
        case .notHTTPResponse: "the response is not an HTTP response"
        case .unknownError: "the transport failed without saying why"
        }
    }
}

/// An error response of an origin: a status of 400 or more, and its content.
public struct HTTPError: Error, Sendable, CustomStringConvertible {
    /// The status the origin sent.
    public let status: Status
    /// A message for users; the status's phrase unless the response has a better one.
    public let message: String
    /// Status and fields of the response.
    public let head: ResponseHead

    /// Makes an error of a response; the message defaults to the phrase of its status.
    public init(head: ResponseHead, message: String? = nil) {
        status = head.status
        self.message = message ?? head.status.phrase
        self.head = head
    }

    public var description: String { "\(status) \(message)" }
}

extension Session where Failure == any Error {
    /// The part of a message that describes an HTTP response, where the response may be something else.
    public func http<Response: Sendable, Body: Sendable>() -> AnySession<
        Request, Message<ResponseHead, Body>, any Error
    >
    where Value == Message<Response, Body> {
        transform { message in
            guard let head = message.response as? ResponseHead else { throw SessionError.notHTTPResponse }
            return Message(response: head, body: message.body)
        }
    }

    /// Bytes as JSON. Values that are neither object nor array are refused unless `allowsFragments`.
    public func json(allowsFragments: Bool = false) -> AnySession<Request, JSONValue, any Error>
    where Value == [UInt8] {
        transform { try parse($0, allowsFragments) }
    }

    /// The body of a message as JSON; the response stays.
    public func json<Response: Sendable>(
        allowsFragments: Bool = false
    ) -> AnySession<Request, Message<Response, JSONValue>, any Error> where Value == Message<Response, [UInt8]> {
        transform { Message(response: $0.response, body: try parse($0.body, allowsFragments)) }
    }

    /// Turns responses with a status of 400 or more into failures. `message` may extract a message for users.
    public func raiseHTTPErrors<Body: Sendable>(
        message: @escaping @Sendable (Message<ResponseHead, Body>) -> String? = { _ in nil }
    ) -> AnySession<Request, Value, any Error> where Value == Message<ResponseHead, Body> {
        transform { value in
            guard !value.response.status.isError else { throw HTTPError(head: value.response, message: message(value)) }
            return value
        }
    }
}

extension Session {
    /// The bodies of messages.
    public func body<Response: Sendable, Body: Sendable>() -> AnySession<Request, Body, Failure>
    where Value == Message<Response, Body> {
        transform { $0.body }
    }

    /// Response and body as pairs.
    public func tuple<Response: Sendable, Body: Sendable>() -> AnySession<Request, (Response, Body), Failure>
    where Value == Message<Response, Body> {
        transform { ($0.response, $0.body) }
    }
}

private func parse(_ octets: [UInt8], _ allowsFragments: Bool) throws -> JSONValue {
    let value = try JSONValue(parsing: octets)
    guard allowsFragments || value.object != nil || value.array != nil else {
        throw JSONResponseIsNotDictionaryOrArray(type: value.typeName)
    }
    return value
}

/// A session as a transport: requests and responses pass through it and everything it was derived from.
public struct SessionTransport<Base: Session<OutgoingRequest, IncomingResponse, any Error>>: UpstreamTransport {
    private let session: Base

    /// Makes a transport of a session.
    public init(_ session: Base) { self.session = session }

    public func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse {
        guard let response = try await session.value(for: request) else { throw SessionError.unknownError }
        return response
    }
}

/// A transport as a session.
extension UpstreamTransport {
    /// This transport as a session with one value for each request.
    public var session: AnySession<OutgoingRequest, IncomingResponse, any Error> {
        AnySession(single: { request in try await send(request, progress: TransferProgress()) })
    }
}
