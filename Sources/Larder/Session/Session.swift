// SPDX-License-Identifier: Apache-2.0

/// A function from requests to values yet to come: the layer below services.
///
/// What it returns is cold: nothing happens until it is iterated, each iteration is one piece of work, and
/// cancelling the iterating task gives the work up. Sessions are derived from each other without changing the one
/// they are derived from, so many can share one base.
public protocol Session<Request, Value, Failure>: Sendable {
    /// What is asked.
    associatedtype Request: Sendable
    /// What is answered.
    associatedtype Value: Sendable
    /// How it fails.
    associatedtype Failure: Error

    /// The values for a request; iterating them does the work.
    func values(for request: Request) -> Values<Value, Failure>
}

/// Values yet to come: cold, so that each iterator begins the work anew.
public struct Values<Value: Sendable, Failure: Error>: AsyncSequence, Sendable {
    public typealias Element = Value

    /// Gives the next value, nil after the last.
    public typealias Next = @Sendable () async throws(Failure) -> Value?

    private let start: @Sendable () -> Next

    /// Makes values from what begins the work; it is called once for each iterator, when the first value is wanted.
    public init(_ start: @escaping @Sendable () -> Next) { self.start = start }

    /// The value of one function.
    public init(single: @escaping @Sendable () async throws(Failure) -> Value) {
        start = {
            let isDone = Flag()
            return { () async throws(Failure) -> Value? in isDone.raise() ? try await single() : nil }
        }
    }

    /// Values that are known.
    public init(_ values: [Value]) {
        start = {
            let position = Counter()
            return { () async throws(Failure) -> Value? in
                let index = position.next()
                return index < values.count ? values[index] : nil
            }
        }
    }

    /// No value but a failure.
    public init(failure: Failure) { self.init { { () async throws(Failure) -> Value? in throw failure } } }

    public func makeAsyncIterator() -> Iterator { Iterator(start: start) }

    /// One piece of work.
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

/// A session that is a function, or any other session with its type forgotten.
public struct AnySession<Request: Sendable, Value: Sendable, Failure: Error>: Session {
    private let body: @Sendable (Request) -> Values<Value, Failure>

    /// Makes a session of a function.
    public init(_ body: @escaping @Sendable (Request) -> Values<Value, Failure>) { self.body = body }

    /// Makes a session that forgets what type it was.
    public init(_ session: some Session<Request, Value, Failure>) { body = { session.values(for: $0) } }

    /// A session with one value for each request.
    public init(single: @escaping @Sendable (Request) async throws(Failure) -> Value) {
        body = { request in Values(single: { () async throws(Failure) -> Value in try await single(request) }) }
    }

    public func values(for request: Request) -> Values<Value, Failure> { body(request) }
}

/// A session ended without the value that was asked for.
public struct NoValue: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the session ended without a value" }
}
