// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import LarderHTTP

/// Conversions to and from the types of Foundation.
extension Timestamp {
    /// The instant of a date, to the nanosecond where the date is that exact; dates beyond the year 2262 saturate.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970
        let nanoseconds = (seconds * 1e9).rounded()
        self.init(
            nanoseconds: nanoseconds >= 9.2233720368547748e18
                ? .max : nanoseconds <= -9.2233720368547748e18 ? .min : Int64(nanoseconds))
    }

    /// The instant as a date.
    public var date: Date { Date(self) }
}

extension Date {
    /// The date of an instant, as exactly as a date can be.
    public init(_ timestamp: Timestamp) {
        let (seconds, rest) = timestamp.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(timeIntervalSince1970: Double(seconds) + Double(rest) / 1e9)
    }
}

extension TypedContentAccessors {
    /// The bytes of the content as `Data`.
    public var data: Data? { octets.map { Data($0) } }
}

extension Data: WireEncodable {
    public func wireContent() -> WireContent { WireContent(octets: Array(self)) }
}

extension RequestBody {
    /// Bytes of a given type.
    public static func data(_ data: Data, contentType: String) -> RequestBody {
        .data(Array(data), contentType: contentType)
    }

    /// A value encoded as JSON. Fails with `InvalidJSONObject` if that is neither an object nor an array, or with the
    /// encoder's error.
    // A `JSONValue`, or a literal of one, is used directly.
    @_disfavoredOverload
    public static func json(
        _ value: some Encodable, encoder: JSONEncoder = .ofLarder, contentType: String = "application/json"
    ) -> RequestBody {
        do {
            let octets = Array(try encoder.encode(value))
            guard octets.first == UInt8(ascii: "{") || octets.first == UInt8(ascii: "[") else {
                return RequestBody(form: .impossible(InvalidJSONObject(type: String(describing: type(of: value)))))
            }
            return .data(octets, contentType: contentType)
        } catch {
            return RequestBody(form: .impossible(error))
        }
    }
}

extension Resource {
    /// Makes and starts a request with bytes of a given type.
    @discardableResult
    public func request(
        _ method: Method, data: Data, contentType: String, mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .data(data, contentType: contentType), mutation: mutation)
    }

    /// Makes and starts a request with a value as JSON.
    @discardableResult @_disfavoredOverload
    public func request(
        _ method: Method, json value: some Encodable, encoder: JSONEncoder = .ofLarder,
        contentType: String = "application/json", mutation: @escaping RequestMutation = { _ in }
    ) -> Request {
        request(method, body: .json(value, encoder: encoder, contentType: contentType), mutation: mutation)
    }
}

extension Service {
    /// Makes a service with a `URL`; nil, and a URL that is no absolute http or https URL, count as none.
    // A literal `nil` is no `URL`.
    @_disfavoredOverload
    public convenience init(
        _ name: String = "service", baseURL: URL?,
        standardTransformers: [StandardTransformer] = [.json, .text, .image],
        transport: any UpstreamTransport = OriginTransport.shared,
        defaults: Configuration = Configuration(), clock: any ModelClock = SystemModelClock(),
        log: ModelLog = ModelLog()
    ) {
        self.init(
            name, baseURL: baseURL?.absoluteString, standardTransformers: standardTransformers, transport: transport,
            defaults: defaults, clock: clock, log: log)
    }

    /// The resource at a URL. For nil and for other URLs than http and https it is one whose requests all fail.
    @_disfavoredOverload
    public func resource(absoluteURL: URL?, in partition: Partition = .shared) -> Resource {
        resource(absoluteURL: absoluteURL?.absoluteString, in: partition)
    }

    /// The resource at a path below another base URL.
    @_disfavoredOverload
    public func resource(baseURL: URL?, path: String, in partition: Partition = .shared) -> Resource {
        resource(baseURL: baseURL?.absoluteString, path: path, in: partition)
    }
}
