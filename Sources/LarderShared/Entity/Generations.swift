// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderStores

/// A random token that is replaced by an invalidation: entities that name another one are older.
package struct Generation: Sendable, Hashable {
    static let length = 16
    package let octets: [UInt8]

    /// Nil unless there are exactly as many bytes as there have to be.
    package init?(_ octets: [UInt8]) {
        guard octets.count == Generation.length else { return nil }
        self.octets = octets
    }

    private init(random octets: [UInt8]) { self.octets = octets }

    package static func random() -> Generation {
        Generation(random: .random16())
    }
}

/// The generations that an entity was stored in. It is valid in these alone.
package struct EntityGenerations: Sendable, Hashable {
    /// Nil while the URL was never invalidated.
    package var url: Generation?
    /// Generations of everything and of the service, then of each group in both scopes, in the order of `SharedScope`s.
    package var scopes: [Generation]

    package init(url: Generation?, scopes: [Generation]) {
        self.url = url
        self.scopes = scopes
    }
}

/// The generations of scopes as a daemon knows them: asked for once, then changed by the log. Instants are monotonic
/// nanoseconds.
package struct KnownGenerations: Sendable {
    private var generations: [SharedScope: (value: Generation, at: Int64)] = [:]
    /// Counts the log's changes: an answer that was under way meanwhile may be older.
    package private(set) var mark: UInt64 = 0
    private let limit: Int
    /// After that a generation is asked for again, lest a message that was never written counts for ever.
    private let life = Duration.seconds(60)

    package init(limit: Int = 65_536) { self.limit = limit }

    /// The generations of all scopes; nil if one is unknown.
    package func all(_ scopes: [SharedScope], at now: Int64) -> [Generation]? {
        var found: [Generation] = []
        for scope in scopes {
            guard let known = generations[scope], now < known.at.advanced(by: life) else { return nil }
            found.append(known.value)
        }
        return found
    }

    package func unknown(_ scopes: [SharedScope], at now: Int64) -> [SharedScope] {
        scopes.filter { all([$0], at: now) == nil }
    }

    /// Takes the answer to a question that was asked when `mark` was that; false if it may be outdated.
    @discardableResult
    package mutating func learn(_ generation: Generation, of scope: SharedScope, asked: UInt64, at now: Int64) -> Bool {
        guard asked == mark else { return false }
        if generations.count >= limit, generations[scope] == nil { generations = [:] }
        generations[scope] = (generation, now)
        return true
    }

    /// The scope was invalidated.
    package mutating func replace(_ generation: Generation, of scope: SharedScope, at now: Int64) {
        mark += 1
        generations[scope] = (generation, now)
    }

    /// Answers that are under way may be outdated.
    package mutating func noteChange() { mark += 1 }

    package mutating func forgetAll() {
        mark += 1
        generations = [:]
    }
}

extension Int64 {
    /// This instant moved by `duration`, saturated.
    func advanced(by duration: Duration) -> Int64 { (Timestamp(nanoseconds: self) + duration).nanoseconds }
}

/// The key of a resource for all daemons: the service as its name and its base URL, and the URL as in the keys of the
/// store.
package struct SharedKey: Sendable, Hashable {
    package let service: String
    /// Empty for unclaimed traffic.
    package let base: String
    package let url: [UInt8]
    /// The user it belongs to (`SharedState.own`); empty for everybody's.
    package let owner: [UInt8]
    /// 32 hexadecimal digits, the same for all owners.
    package let name: String

    package init(service: String, base: String, url: [UInt8], owner: [UInt8] = []) {
        self.service = service
        self.base = base
        self.url = url
        self.owner = owner
        var writer = OctetWriter(room: service.utf8.count + base.utf8.count + url.count + 16)
        writer.append(run: service)
        writer.append(run: base)
        writer.append(run: url)
        name = String(ContentDigest(of: writer.octets).hexadecimal.prefix(32))
    }

    /// The key of everybody's for the same URL, which invalidations name.
    package var forAll: SharedKey { owner.isEmpty ? self : SharedKey(service: service, base: base, url: url) }

    /// Tells owners apart in the names of keys.
    fileprivate var mark: String {
        owner.isEmpty ? "" : ":" + ContentDigest(of: owner).hexadecimal.prefix(32)
    }
}

/// A set of responses, larger than a URL's, that is invalidated at once.
package enum SharedScope: Sendable, Hashable {
    case everything
    case service(name: String, base: String)
    /// At one origin or, where that is nil, at all (RFC 9875).
    case group(String, origin: String?)

    /// 32 hexadecimal digits.
    package var name: String {
        var writer = OctetWriter()
        switch self {
        case .everything: writer.append(UInt8(0))
        case .service(let name, let base):
            writer.append(UInt8(1))
            writer.append(run: name)
            writer.append(run: base)
        case .group(let group, let origin):
            writer.append(UInt8(2))
            writer.append(run: group)
            writer.append(optional: origin.map { Array($0.utf8) })
        }
        return String(ContentDigest(of: writer.octets).hexadecimal.prefix(32))
    }
}

/// The names of keys in the engine.
package struct EngineKeys: Sendable, Equatable {
    package let namespace: String

    package init(namespace: String) { self.namespace = namespace }

    package func index(_ key: SharedKey) -> [UInt8] { octets("i:{\(key.name)}\(key.mark)") }
    /// One for all owners.
    package func generation(_ key: SharedKey) -> [UInt8] { octets("g:{\(key.name)}") }
    package func lease(_ key: SharedKey) -> [UInt8] { octets("l:{\(key.name)}\(key.mark)") }
    package func generation(_ scope: SharedScope) -> [UInt8] { octets("s:\(scope.name)") }
    package func piece(_ digest: ContentDigest) -> [UInt8] { octets("c:\(digest.hexadecimal)") }
    package var log: [UInt8] { octets("log") }

    private func octets(_ rest: String) -> [UInt8] { Array("\(namespace):\(rest)".utf8) }
}
