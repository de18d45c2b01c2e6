// SPDX-License-Identifier: Apache-2.0
import LarderIO
package import LarderStores

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
