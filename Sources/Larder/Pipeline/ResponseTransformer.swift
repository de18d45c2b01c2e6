// SPDX-License-Identifier: Apache-2.0

/// A step that turns a response into another: other content, other fields, a success turned into an error or an error
/// into a success.
///
/// It runs on a thread for transformers, and must depend on nothing but the response. It may take its time, but it has to
/// return: when `transformTimeout` is over its result is not wanted any more, and cannot end it. For the common case,
/// content to other content, use `ResponseContentTransformer`.
public protocol ResponseTransformer: Sendable {
    /// The transformed response.
    func process(_ response: Response) -> Response

    /// The transformer in words, for errors and logs.
    var transformerDescription: String { get }

    /// True if `process` does anything to this response.
    func applies(to response: Response) -> Bool

    /// The inputs of the results besides the response: two transformers with the same fingerprint give the same
    /// results. Results stored under another fingerprint are computed again. Default: the description.
    var fingerprint: String { get }
}

extension ResponseTransformer {
    public var transformerDescription: String { String(describing: type(of: self)) }
    public func applies(to response: Response) -> Bool { true }
    public var fingerprint: String { transformerDescription }
}

/// A transformer that is a function.
public struct ClosureTransformer: ResponseTransformer {
    public let transformerDescription: String
    public let fingerprint: String
    private let body: @Sendable (Response) -> Response

    /// Makes a transformer of a function; the description names it in errors and logs. Change the fingerprint with the
    /// function; by default it is the description.
    public init(
        _ description: String, fingerprint: String? = nil, _ body: @escaping @Sendable (Response) -> Response
    ) {
        transformerDescription = description
        self.fingerprint = fingerprint ?? description
        self.body = body
    }

    public func process(_ response: Response) -> Response { body(response) }
}

/// A transformer for content of certain types; responses without an entity pass unchanged.
struct ContentTypeFilter: WaitingTransformer {
    private let transformer: any ResponseTransformer
    private let contentTypes: [ContentTypePattern]

    init(_ transformer: any ResponseTransformer, contentTypes: [ContentTypePattern]) {
        self.transformer = transformer
        self.contentTypes = contentTypes
    }

    var transformerDescription: String {
        "\(transformer.transformerDescription) for \(contentTypes.map(\.text).joined(separator: ", "))"
    }

    var fingerprint: String { "\(transformer.fingerprint) for \(contentTypes.map(\.text))" }

    func applies(to response: Response) -> Bool {
        guard let type = response.entity?.contentType else { return false }
        return contentTypes.contains { $0.matches(type) } && transformer.applies(to: response)
    }

    var threads: TransformerThreads? { transformer.ownThreads }

    func process(_ response: Response, until deadline: TransformDeadline?) -> Response {
        applies(to: response) ? transformer.transform(response, until: deadline) : response
    }
}
