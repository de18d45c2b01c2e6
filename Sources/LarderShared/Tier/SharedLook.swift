// SPDX-License-Identifier: Apache-2.0

/// The result of a look-up for a URL: entities that verify, and the state needed to write one.
package struct SharedLook: Sendable {
    package enum Lease: Sendable, Equatable {
        /// No daemon asks the origin.
        case free
        /// Another daemon asks the origin.
        case taken
        /// Another daemon asked the origin, and its response was not shared.
        case pointless
    }

    package let key: SharedKey
    /// Valid in the present generations, the newest first.
    package let entities: [SharedEntity]
    package let lease: Lease
    let index: SharedIndex
    let generation: Generation?
    /// The generations of everything and of the service at the look-up. Entities stored later belong to them.
    let scopes: [Generation]
    /// The mark of `SharedState` before the look-up.
    let mark: UInt64

    /// Reads the reply to `EngineKeys.readWithLease`; nil when it is none.
    struct Raw {
        let index: SharedIndex
        let generation: Generation?
        let lease: Lease

        init?(_ reply: Reply) {
            guard let parts = reply.elements, parts.count == 3 else { return nil }
            index = parts[0].octets.map { SharedIndex($0) } ?? .none
            switch parts[1] {
            case .null: generation = nil
            case .bulk(let octets):
                guard let known = Generation(octets) else { return nil }
                generation = known
            default: return nil
            }
            switch parts[2] {
            case .bulk(LeaseToken.note): lease = .pointless
            case .bulk: lease = .taken
            default: lease = .free
            }
        }
    }
}
