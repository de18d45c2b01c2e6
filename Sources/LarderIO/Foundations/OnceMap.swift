// SPDX-License-Identifier: Apache-2.0

/// A map that only grows and is read without a lock: for what is computed once for each of a few keys and looked up by
/// every request.
///
/// Entries lie in chains whose links are set once, so a reader sees a chain as it is, or as it was a moment ago.
public final class OnceMap<Key: Hashable & Sendable, Value: AnyObject & Sendable>: Sendable {
    @usableFromInline
    final class Link: Sendable {
        @usableFromInline let next = OnceReference<Entry>()
    }

    @usableFromInline
    final class Entry: Sendable {
        @usableFromInline let key: Key
        @usableFromInline let value: Value
        @usableFromInline let link = Link()

        @usableFromInline
        init(_ key: Key, _ value: Value) { (self.key, self.value) = (key, value) }
    }

    @usableFromInline let chains: [Link]

    /// Makes an empty map.
    public init() { chains = (0..<16).map { _ in Link() } }

    /// The value of `key`, if there is one.
    @inlinable
    public subscript(key: Key) -> Value? {
        var link = chains[key.hashValue & 15]
        while let entry = link.next.load() {
            if entry.key == key { return entry.value }
            link = entry.link
        }
        return nil
    }

    /// The value of `key`; `make` computes it if it is missing. If several callers compute it at once, the value that
    /// is stored first stays, and all callers get it.
    @inlinable
    public func value(for key: Key, make: () throws -> Value) rethrows -> Value {
        var link = chains[key.hashValue & 15]
        while let entry = link.next.load() {
            if entry.key == key { return entry.value }
            link = entry.link
        }
        let made = Entry(key, try make())
        while true {
            let entry = link.next.storeIfNil(made)
            if entry === made || entry.key == key { return entry.value }
            link = entry.link
        }
    }
}
