// SPDX-License-Identifier: Apache-2.0

/// Invalidations by this process that the engine has not confirmed, in order.
///
/// Until it has, this process does not look for the entities they concern: another daemon may see an old one for a
/// moment, the daemon that invalidated it never does.
package struct SharedOutbox: Sendable {
    package struct Item: Sendable, Equatable {
        /// The number of the message among the messages of this process, in the order of the items.
        let number: Int64
        package let subject: LogMessage.Subject
    }

    private(set) var items: [Item] = []
    private var last: Int64 = 0
    private var keys: [SharedKey: Int] = [:]
    private let limit: Int

    package init(limit: Int = 4096) { self.limit = limit }

    package var isEmpty: Bool { items.isEmpty }

    /// True if an invalidation of that URL is under way.
    package func contains(_ key: SharedKey) -> Bool { !keys.isEmpty && keys[key.forAll] != nil }

    /// True if an invalidation of that scope is under way.
    package func contains(_ scope: SharedScope) -> Bool { items.contains { $0.subject.scope?.0 == scope } }

    /// Adds an invalidation. When there are too many, for an engine that is away, one of everything takes the place of
    /// all; that one is returned for its generation to be learnt.
    package mutating func append(_ subject: LogMessage.Subject) -> LogMessage.Subject? {
        guard items.count < limit else {
            let all = LogMessage.Subject.scope(.everything, .random())
            items = []
            keys = [:]
            put(all)
            return all
        }
        put(subject)
        return nil
    }

    /// Up to `count` of the oldest.
    package func next(_ count: Int) -> [Item] { Array(items.prefix(count)) }

    /// The engine has them.
    package mutating func confirm(_ confirmed: [Item]) {
        let numbers = Set(confirmed.map(\.number))
        for item in items where numbers.contains(item.number) {
            guard let key = item.subject.key, let count = keys[key] else { continue }
            keys[key] = count > 1 ? count - 1 : nil
        }
        items.removeAll { numbers.contains($0.number) }
    }

    private mutating func put(_ subject: LogMessage.Subject) {
        last += 1
        items.append(Item(number: last, subject: subject))
        if let key = subject.key { keys[key, default: 0] += 1 }
    }
}

extension LogMessage.Subject {
    /// The URL it is about, if it is about one.
    package var key: SharedKey? {
        guard case .url(let url, let service, let base) = self else { return nil }
        return SharedKey(service: service, base: base, url: url)
    }

    /// The scope that is invalid in the engine, and its new generation.
    package var scope: (SharedScope, Generation)? {
        switch self {
        case .scope(let scope, let generation): (scope, generation)
        case .patterns(_, let service, let base, let generation): (.service(name: service, base: base), generation)
        case .url, .beginning: nil
        }
    }
}
