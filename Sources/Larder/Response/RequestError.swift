// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderRules

/// Why a request returned no new data: the network failed, the origin answered with an error, or its response was bad.
public struct RequestError: Error, Sendable {
    /// A message for users. Never empty.
    public var userMessage: String
    /// The status of the response, if there was one.
    public var status: Status?
    /// The response's content, as far as the pipeline got with it.
    public var entity: AnyEntity? { didSet { isAboutInput = false } }
    /// The underlying error; nil when there is only the origin's status.
    public var cause: (any Error)?
    /// When the request failed.
    public var timestamp: Timestamp
    /// The resource that was requested.
    public var url: ResourceURL?
    /// The method of the request.
    public var method: Method?
    /// Which attempt at the same operation failed, from 1.
    public var attempt = 1
    /// The stage of the pipeline that turned a success into an error, if one did.
    public internal(set) var stage: PipelineStageKey?
    /// The transformer that did, by its description.
    public internal(set) var transformer: String?
    /// Whether `entity` is what a transformer refused, and not content of the error's own: clients do not get it.
    package internal(set) var isAboutInput = false

    /// Makes an error from a response with an error status, or from an error that occurred while
    /// there was one.
    ///
    /// `userMessage` defaults to the description of `cause`, else the phrase of the status.
    public init(
        status: Status? = nil, entity: AnyEntity? = nil, cause: (any Error)? = nil, userMessage: String? = nil,
        timestamp: Timestamp
    ) {
        self.status = status
        self.entity = entity
        self.cause = cause
        self.timestamp = timestamp
        self.userMessage =
            userMessage ?? cause.map(RequestError.message) ?? status.map(RequestError.message) ?? "Request failed"
    }

    /// The response's fields; none when there was no response.
    public var fields: Fields { entity?.fields ?? Fields() }

    /// True if the request was cancelled rather than failed.
    public var isCancellation: Bool { cause is RequestCancelled }

    /// True if the same request may succeed later: no response, or 408, 429, 502, 503, 504.
    public var isTransient: Bool {
        if isCancellation { return false }
        // A partial response has a status, too.
        if let cause = cause as? any TransientFailure { return cause.isTransient }
        guard let status else { return !(cause is any PermanentFailure) }
        return [408, 429, 502, 503, 504].contains(status.rawValue)
    }

    /// The message of an error that a transformer has thrown, and that is none of these: for users, to whom its own
    /// words may mean nothing.
    static let unparsable = "Cannot parse server response"

    /// The message, and the words of the cause where the message says nothing of it.
    package var explanation: String {
        guard userMessage == RequestError.unparsable, let cause else { return userMessage }
        return "\(userMessage): \(cause)"
    }

    private static func message(_ cause: any Error) -> String {
        let text = String(describing: cause)
        return text.isEmpty ? "Request failed" : text
    }

    private static func message(_ status: Status) -> String {
        let phrase = status.phrase
        return phrase.isEmpty ? "Request failed" : phrase.prefix(1) + phrase.dropFirst().lowercased()
    }
}

extension RequestError {
    /// How long the origin asked clients to wait, from the time of the error on (RFC 9110 §10.2.3).
    var retryAfter: Duration? {
        guard let status, [429, 503].contains(status.rawValue) else { return nil }
        return RetryAfter.delay(fields, now: timestamp)
    }
}

extension RequestError: TypedContentAccessors {
    public var entityForTypedContent: AnyEntity? { entity }
}

extension RequestError: CustomStringConvertible {
    /// All details in one line: the request, the status, the message, the stage of the pipeline that failed, the cause,
    /// and the beginning of the content.
    public var description: String {
        let subject = [method?.token, url?.string].compactMap(\.self).joined(separator: " ")
        var parts = [subject, status.map { "\($0)" } ?? "", userMessage].filter { !$0.isEmpty }.joined(separator: ": ")
        if let stage { parts += "; at stage \(stage)" + (transformer.map { ", by \($0)" } ?? "") }
        let reason = cause.map { String(describing: $0) }
        if let reason, reason != userMessage { parts += "; because: \(reason.prefix(500))" }
        return parts + contentBeginning
    }

    /// The first characters of the content, if it is text of some kind.
    private var contentBeginning: String {
        guard let octets = entity?.octets, !octets.isEmpty,
            let text = String(validating: octets.prefix(240).dropPartialCharacter(), as: UTF8.self)
        else { return "" }
        let shown = text.prefix(200)
        let isCut = octets.count > shown.utf8.count
        return "; the content\(isCut ? " begins with" : ":") \(String(shown).debugDescription)"
    }
}

extension ArraySlice<UInt8> {
    /// Without an incomplete UTF-8 character at the end.
    fileprivate func dropPartialCharacter() -> ArraySlice<UInt8> {
        var kept = self
        var continuations = 0
        while let last = kept.last, last & 0xC0 == 0x80, continuations < 3 {
            kept = kept.dropLast()
            continuations += 1
        }
        guard let lead = kept.last, lead >= 0xC0 else { return self }
        let length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
        return continuations + 1 == length ? self : kept.dropLast()
    }
}

/// Causes that know whether a retry may succeed. A protocol, because the folder of the one there is names this one.
protocol TransientFailure: Error {
    var isTransient: Bool { get }
}

/// Marks causes that a retry does not cure.
protocol PermanentFailure: Error {}

/// The resource's URL is not an absolute `http` or `https` URL.
public struct InvalidURL: PermanentFailure, CustomStringConvertible {
    /// The text that should have been a URL.
    public let url: String
    /// The problem, if it is known.
    public let detail: String?
    /// Makes the error.
    public init(url: String, detail: String? = nil) {
        self.url = url
        self.detail = detail
    }
    public var description: String {
        "'\(url)' is not an absolute http or https URL" + (detail.map { ": \($0)" } ?? "")
    }
}

/// Text that cannot be written in the encoding asked for.
public struct UnencodableText: PermanentFailure, CustomStringConvertible {
    /// The encoding that was asked for.
    public let encoding: TextEncoding
    /// The text.
    public let text: String
    /// Makes the error.
    public init(encoding: TextEncoding, text: String) {
        self.encoding = encoding
        self.text = text
    }
    public var description: String { "the text cannot be written in \(encoding.name)" }
}

/// A request body that is neither a JSON object nor a JSON array.
public struct InvalidJSONObject: PermanentFailure, CustomStringConvertible {
    /// The kind of JSON value.
    public let type: String
    /// Makes the error.
    public init(type: String) { self.type = type }
    public var description: String { "the body is a JSON \(type), not an object or array" }
}

/// Form parameters that cannot be encoded.
public struct NotURLEncodable: PermanentFailure, CustomStringConvertible {
    /// The name.
    public let name: String
    /// Makes the error.
    public init(name: String) { self.name = name }
    public var description: String { "the form parameter '\(name)' cannot be encoded" }
}

/// The request was cancelled; with the network's error for that, if any.
public struct RequestCancelled: Error, CustomStringConvertible {
    /// The transport's error.
    public let networkError: (any Error)?
    /// Makes the error.
    public init(networkError: (any Error)? = nil) { self.networkError = networkError }
    public var description: String { "Request cancelled" }
}

/// A 304 for data that is not here.
public struct NoLocalDataFor304: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "No data available" }
}

/// A response names a text encoding that is not supported.
public struct InvalidTextEncoding: PermanentFailure, CustomStringConvertible {
    /// The name.
    public let name: String
    /// Makes the error.
    public init(name: String) { self.name = name }
    public var description: String { "the response is in an unknown text encoding, '\(name)'" }
}

/// A response's bytes are not valid text in the encoding that it names.
public struct UndecodableText: PermanentFailure, CustomStringConvertible {
    /// The encoding's name.
    public let encoding: String
    /// Makes the error.
    public init(encoding: String) { self.encoding = encoding }
    public var description: String { "the response is not text in \(encoding)" }
}

/// A response is JSON, but neither an object nor an array.
public struct JSONResponseIsNotDictionaryOrArray: PermanentFailure, CustomStringConvertible {
    /// The kind of JSON value.
    public let type: String
    /// Makes the error.
    public init(type: String) { self.type = type }
    public var description: String { "the response is a JSON \(type), not an object or array" }
}

/// A response that should be an image has no known format.
public struct UnparsableImage: PermanentFailure, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the response is no image of a known format" }
}

/// A transformer received content of a type that it does not accept.
public struct WrongInputTypeInTransformerPipeline: PermanentFailure, CustomStringConvertible {
    /// The type that the transformer accepts.
    public let expected: String
    /// The type that it received.
    public let actual: String
    /// The transformer.
    public let transformer: String

    /// Makes the error.
    public init(expected: String, actual: String, transformer: String) {
        self.expected = expected
        self.actual = actual
        self.transformer = transformer
    }

    public var description: String { "\(transformer) takes \(expected), but got \(actual)" }
}

/// A transformer returned no content.
public struct TransformerReturnedNil: PermanentFailure, CustomStringConvertible {
    /// The transformer.
    public let transformer: String
    /// Makes the error.
    public init(transformer: String) { self.transformer = transformer }
    public var description: String { "\(transformer) returned no content" }
}

/// A transformer took longer than the configuration allows.
public struct TransformerTimedOut: PermanentFailure, CustomStringConvertible {
    /// The time limit.
    public let limit: Duration
    /// Makes the error.
    public init(limit: Duration) { self.limit = limit }
    public var description: String { "transforming the response took longer than \(limit)" }
}

/// The output of a transformer is larger than the configuration allows.
public struct TransformedContentTooLarge: PermanentFailure, CustomStringConvertible {
    /// The size of the output in bytes.
    public let size: Int
    /// The limit in bytes.
    public let limit: Int
    /// Makes the error.
    public init(size: Int, limit: Int) {
        self.size = size
        self.limit = limit
    }
    public var description: String { "transforming the response gave \(size) octets; \(limit) are allowed" }
}

/// A request delegate released its completion without completing the request.
public struct AbandonedByDelegate: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the request was given up by what should have carried it out" }
}

/// The transport failed. `response` is the part received by then.
public struct TransportFailure: Error, CustomStringConvertible {
    /// The underlying error.
    public let cause: any Error
    /// The part received by then, if any.
    public let response: Message<ResponseHead, [UInt8]>?

    /// Makes the error.
    public init(_ cause: any Error, response: Message<ResponseHead, [UInt8]>? = nil) {
        self.cause = cause
        self.response = response
    }

    public var description: String { String(describing: cause) }
}
