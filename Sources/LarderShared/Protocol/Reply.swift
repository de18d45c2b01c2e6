// SPDX-License-Identifier: Apache-2.0

/// A reply of the engine (RESP2).
package enum Reply: Sendable, Equatable {
    case status(String)
    case integer(Int64)
    case bulk([UInt8])
    case null
    case array([Reply])
    case refusal(Refusal)

    /// The bytes of a string; nil for everything else.
    package var octets: [UInt8]? { if case .bulk(let octets) = self { octets } else { nil } }

    package var elements: [Reply]? { if case .array(let elements) = self { elements } else { nil } }

    package var number: Int64? { if case .integer(let number) = self { number } else { nil } }

    package var text: String? {
        switch self {
        case .bulk(let octets): String(decoding: octets, as: UTF8.self)
        case .status(let text): text
        default: nil
        }
    }
}

/// An error reply: the engine works, but refuses the command.
package struct Refusal: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The slot belongs to another node.
        case moved(slot: Int, to: EngineNode)
        /// The slot is on its way to another node, which has this key already.
        case ask(slot: Int, to: EngineNode)
        /// The node, or the cluster, serves nothing at the moment.
        case unavailable
        /// Nothing can be written: no memory, a replica, too few replicas, a disk that is full.
        case unwritable
        /// User, password or ACL.
        case forbidden
        case other
    }

    package let kind: Kind
    /// The engine's own words, cut to a line for logs.
    package let text: String

    package init(_ text: String) {
        self.text = String(text.prefix(200))
        let words = text.split(separator: " ", maxSplits: 3)
        switch words.first {
        case "MOVED": kind = Refusal.redirection(words).map { .moved(slot: $0, to: $1) } ?? .other
        case "ASK": kind = Refusal.redirection(words).map { .ask(slot: $0, to: $1) } ?? .other
        case "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "LOADING", "BUSY": kind = .unavailable
        case "OOM", "READONLY", "NOREPLICAS", "MISCONF": kind = .unwritable
        case "NOAUTH", "WRONGPASS", "NOPERM": kind = .forbidden
        default: kind = .other
        }
    }

    private static func redirection(_ words: [Substring]) -> (Int, EngineNode)? {
        guard words.count >= 3, let slot = Int(words[1]), HashSlot.range.contains(slot),
            let node = EngineNode(redirection: words[2])
        else { return nil }
        return (slot, node)
    }
}

/// The address on which an engine listens.
package enum EngineNode: Hashable, Sendable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    /// Parses `host:port`. For IPv6, the port follows the last colon. A missing host is the host of the node that was
    /// asked.
    init?(redirection text: Substring) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard host.utf8.count <= 255 else { return nil }
        self = .tcp(host: String(host), port: port)
    }

    /// The same with the host of `asked`, where it names none.
    package func completed(from asked: EngineNode) -> EngineNode {
        guard case .tcp("", let port) = self, case .tcp(let host, _) = asked else { return self }
        return .tcp(host: host, port: port)
    }

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
