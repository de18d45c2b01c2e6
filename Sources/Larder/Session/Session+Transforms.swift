// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension Session {
    /// The first value for a request, nil when there is none.
    public func value(for request: Request) async throws(Failure) -> Value? {
        var iterator = values(for: request).makeAsyncIterator()
        return try await iterator.next()
    }

    /// A session that maps each value of this one.
    public func transform<Other: Sendable>(
        _ body: @escaping @Sendable (Value) async throws(Failure) -> Other
    ) -> AnySession<Request, Other, Failure> {
        AnySession { request in
            let source = values(for: request)
            return Values {
                let iterator = Iteration(source)
                return { () async throws(Failure) -> Other? in
                    guard let value = try await iterator.next() else { return nil }
                    return try await body(value)
                }
            }
        }
    }

    /// A session with all values of the streams that this one's values map to, one stream after the other.
    public func transformStream<Other: Sendable>(
        _ body: @escaping @Sendable (Value) -> Values<Other, Failure>
    ) -> AnySession<Request, Other, Failure> {
        AnySession { request in
            let source = values(for: request)
            return Values {
                let outer = Iteration(source)
                let inner = Lock<Iteration<Other, Failure>?>(nil)
                return { () async throws(Failure) -> Other? in
                    while true {
                        if let current = inner.withLock({ $0 }) {
                            if let value = try await current.next() { return value }
                            inner.withLock { $0 = nil }
                        }
                        guard let value = try await outer.next() else { return nil }
                        inner.withLock { $0 = Iteration(body(value)) }
                    }
                }
            }
        }
    }

    /// A session that maps errors.
    public func transformError<Other: Error>(
        _ body: @escaping @Sendable (Failure) -> Other
    ) -> AnySession<Request, Value, Other> {
        AnySession { request in
            let source = values(for: request)
            return Values {
                let iterator = Iteration(source)
                return { () async throws(Other) -> Value? in
                    do throws(Failure) {
                        return try await iterator.next()
                    } catch {
                        throw body(error)
                    }
                }
            }
        }
    }

    /// A session that continues with other values where this one fails.
    public func recover<Other: Error>(
        _ body: @escaping @Sendable (Failure) -> Values<Value, Other>
    ) -> AnySession<Request, Value, Other> {
        AnySession { request in
            let source = values(for: request)
            return Values {
                let first = Iteration(source)
                let second = Lock<Iteration<Value, Other>?>(nil)
                return { () async throws(Other) -> Value? in
                    if let second = second.withLock({ $0 }) { return try await second.next() }
                    let recovery: Iteration<Value, Other>
                    do throws(Failure) {
                        return try await first.next()
                    } catch {
                        recovery = Iteration(body(error))
                    }
                    second.withLock { $0 = recovery }
                    return try await recovery.next()
                }
            }
        }
    }

    /// A session for other requests, each of which is mapped to one of this session's. A failure of the mapping is a
    /// failure of the session, before any work.
    public func transformRequest<Other: Sendable>(
        _ body: @escaping @Sendable (Other) throws(Failure) -> Request
    ) -> AnySession<Other, Value, Failure> {
        AnySession { other in
            Values {
                let source: Values<Value, Failure>
                do throws(Failure) {
                    source = values(for: try body(other))
                } catch {
                    return { () async throws(Failure) -> Value? in throw error }
                }
                let iterator = Iteration(source)
                return { () async throws(Failure) -> Value? in try await iterator.next() }
            }
        }
    }
}

/// One iteration of values, for closures that have to be `Sendable`. Used by one task at a time.
// @unchecked: `iterator` is used only inside `next`, by one caller at a time according to a sequence's contract.
final class Iteration<Value: Sendable, Failure: Error>: @unchecked Sendable {
    private var iterator: Values<Value, Failure>.Iterator

    init(_ values: Values<Value, Failure>) { iterator = values.makeAsyncIterator() }

    func next() async throws(Failure) -> Value? { try await iterator.next() }
}
