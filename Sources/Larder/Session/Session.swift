// SPDX-License-Identifier: Apache-2.0

/// A function from requests to asynchronous values: the layer below services.
///
/// The values are cold: nothing happens until they are iterated, each iteration does the work once, and cancelling the
/// iterating task cancels the work. Sessions are derived from each other without changing their base, so many can share
/// one.
public protocol Session<Request, Value, Failure>: Sendable {
    /// The type of requests.
    associatedtype Request: Sendable
    /// The type of values.
    associatedtype Value: Sendable
    /// The type of errors.
    associatedtype Failure: Error

    /// The values for a request; iterating them does the work.
    func values(for request: Request) -> Values<Value, Failure>
}

/// Asynchronous values: cold, so that each iterator starts the work anew.
public struct Values<Value: Sendable, Failure: Error>: AsyncSequence, Sendable {
    public typealias Element = Value

    /// Returns the next value, nil after the last.
    public typealias Next = @Sendable () async throws(Failure) -> Value?

    private let start: @Sendable () -> Next

    /// Makes values from a function that starts the work; it is called once for each iterator, at its first value.
    public init(_ start: @escaping @Sendable () -> Next) { self.start = start }

    /// The value of one function.
    public init(single: @escaping @Sendable () async throws(Failure) -> Value) {
        start = {
            let isDone = Flag()
            return { () async throws(Failure) -> Value? in isDone.raise() ? try await single() : nil }
        }
    }

    /// Known values.
    public init(_ values: [Value]) {
        start = {
            let position = Counter()
            return { () async throws(Failure) -> Value? in
                let index = position.next()
                return index < values.count ? values[index] : nil
            }
        }
    }

    /// A failure without values.
    public init(failure: Failure) { self.init { { () async throws(Failure) -> Value? in throw failure } } }

    public func makeAsyncIterator() -> Iterator { Iterator(start: start) }

    /// One iteration of the work.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let start: @Sendable () -> Next
        private var next: Next?

        fileprivate init(start: @escaping @Sendable () -> Next) { self.start = start }

        public mutating func next() async throws(Failure) -> Value? {
            let next = next ?? start()
            self.next = next
            return try await next()
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Value? {
            try await next()
        }
    }
}

/// A session that is a function, or any other session with its type erased.
public struct AnySession<Request: Sendable, Value: Sendable, Failure: Error>: Session {
    private let body: @Sendable (Request) -> Values<Value, Failure>

    /// Makes a session of a function.
    public init(_ body: @escaping @Sendable (Request) -> Values<Value, Failure>) { self.body = body }

    /// Erases the type of a session.
    public init(_ session: some Session<Request, Value, Failure>) { body = { session.values(for: $0) } }

    /// A session with one value for each request.
    public init(single: @escaping @Sendable (Request) async throws(Failure) -> Value) {
        body = { request in Values(single: { () async throws(Failure) -> Value in try await single(request) }) }
    }

    public func values(for request: Request) -> Values<Value, Failure> { body(request) }
}

/// A session ended without the requested value.
public struct NoValue: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the session ended without a value" }
}
