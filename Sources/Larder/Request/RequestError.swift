// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// Why a request brought no new data: the network failed, the origin answered with an error, or the response
/// could not be made sense of.
public struct RequestError: Error, Sendable {
    /// What to tell a person. Never empty.
    public var userMessage: String
    /// The status of the response, if there was one.
    public var status: Status?
    /// The response's content, as far as the pipeline got with it.
    public var entity: AnyEntity?
    /// What went wrong underneath; nil when the origin said it all with its status.
    public var cause: (any Error)?
    /// When the request failed.
    public var timestamp: Timestamp
    /// The resource that was asked for.
    public var url: ResourceURL?
    /// The method it was asked with.
    public var method: Method?
    /// Which attempt at the same operation failed, from 1.
    public var attempt = 1
    /// The stage of the pipeline that made a success an error, if one did.
    public internal(set) var stage: PipelineStageKey?
    /// The transformer that did, in its own words.
    public internal(set) var transformer: String?

    /// Makes an error from a response with an error status, or from what failed while there was one.
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

    /// Whether the request was given up rather than failed.
    public var isCancellation: Bool { cause is RequestCancelled }

    /// Whether the same request may well succeed later: no response, or 408, 429, 502, 503, 504.
    public var isTransient: Bool {
        if isCancellation { return false }
        // What had come of the response has a status, too.
        if let cause = cause as? any TransientFailure { return cause.isTransient }
        guard let status else { return !(cause is any PermanentFailure) }
        return [408, 429, 502, 503, 504].contains(status.rawValue)
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

extension RequestError: TypedContentAccessors {
    public var entityForTypedContent: AnyEntity? { entity }
}

extension RequestError: CustomStringConvertible {
    /// All there is to know, in one line: what was asked for, the status, the message, where in the pipeline it went
    /// wrong, why, and how the content begins.
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
    /// Without the octets of a UTF-8 character at the end whose others were cut off.
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

/// Causes that know whether asking again may cure them.
protocol TransientFailure: Error {
    var isTransient: Bool { get }
}

/// Marks causes that asking again does not cure.
protocol PermanentFailure: Error {}

/// The resource's URL is no absolute `http` or `https` URL.
public struct InvalidURL: PermanentFailure, CustomStringConvertible {
    /// What should have been a URL.
    public let url: String
    /// Why there is none, if that is known.
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
    /// Makes the error.
    public init(encoding: TextEncoding) { self.encoding = encoding }
    public var description: String { "the text cannot be written in \(encoding.name)" }
}

/// A request body that is neither a JSON object nor a JSON array.
public struct InvalidJSONObject: PermanentFailure, CustomStringConvertible {
    /// What kind of JSON it is.
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

/// The request was cancelled; what the network said to that, if anything.
public struct RequestCancelled: Error, CustomStringConvertible {
    /// What the transport said.
    public let networkError: (any Error)?
    /// Makes the error.
    public init(networkError: (any Error)? = nil) { self.networkError = networkError }
    public var description: String { "Request cancelled" }
}

/// A 304 that is not about data that is here.
public struct NoLocalDataFor304: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "No data available" }
}

/// A response names a text encoding that does not exist here.
public struct InvalidTextEncoding: PermanentFailure, CustomStringConvertible {
    /// The name.
    public let name: String
    /// Makes the error.
    public init(name: String) { self.name = name }
    public var description: String { "the response is in an unknown text encoding, '\(name)'" }
}

/// A response's octets are not text in the encoding it names.
public struct UndecodableText: PermanentFailure, CustomStringConvertible {
    /// The encoding's name.
    public let encoding: String
    /// Makes the error.
    public init(encoding: String) { self.encoding = encoding }
    public var description: String { "the response is not text in \(encoding)" }
}

/// A response is JSON, but neither an object nor an array.
public struct JSONResponseIsNotDictionaryOrArray: PermanentFailure, CustomStringConvertible {
    /// What kind of JSON it is.
    public let type: String
    /// Makes the error.
    public init(type: String) { self.type = type }
    public var description: String { "the response is a JSON \(type), not an object or array" }
}

/// A response that should be an image is none that is known.
public struct UnparsableImage: PermanentFailure, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the response is no image of a known format" }
}

/// A transformer got content of a type it does not take.
public struct WrongInputTypeInTransformerPipeline: PermanentFailure, CustomStringConvertible {
    /// The type the transformer takes.
    public let expected: String
    /// The type it got.
    public let actual: String
    /// Which transformer it was.
    public let transformer: String

    /// Makes the error.
    public init(expected: String, actual: String, transformer: String) {
        self.expected = expected
        self.actual = actual
        self.transformer = transformer
    }

    public var description: String { "\(transformer) takes \(expected), but got \(actual)" }
}

/// A transformer had nothing to say about the content.
public struct TransformerReturnedNil: PermanentFailure, CustomStringConvertible {
    /// Which transformer it was.
    public let transformer: String
    /// Makes the error.
    public init(transformer: String) { self.transformer = transformer }
    public var description: String { "\(transformer) returned no content" }
}

/// A transformer took longer than the configuration allows.
public struct TransformerTimedOut: PermanentFailure, CustomStringConvertible {
    /// How long it was given.
    public let limit: Duration
    /// Makes the error.
    public init(limit: Duration) { self.limit = limit }
    public var description: String { "transforming the response took longer than \(limit)" }
}

/// A transformer made more of the content than the configuration allows.
public struct TransformedContentTooLarge: PermanentFailure, CustomStringConvertible {
    /// How many octets it made.
    public let size: Int
    /// How many there may be.
    public let limit: Int
    /// Makes the error.
    public init(size: Int, limit: Int) {
        self.size = size
        self.limit = limit
    }
    public var description: String { "transforming the response gave \(size) octets; \(limit) are allowed" }
}

/// A request delegate let go of its completion without completing the request.
public struct AbandonedByDelegate: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the request was given up by what should have carried it out" }
}

/// The transport failed. `response` is what had arrived by then.
public struct TransportFailure: Error, CustomStringConvertible {
    /// What went wrong.
    public let cause: any Error
    /// What had arrived by then, if anything.
    public let response: Message<ResponseHead, [UInt8]>?

    /// Makes the error.
    public init(_ cause: any Error, response: Message<ResponseHead, [UInt8]>? = nil) {
        self.cause = cause
        self.response = response
    }

    public var description: String { String(describing: cause) }
}
