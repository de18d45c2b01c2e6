// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// The open lanes. Bounded: the least recently used lane of the user with most lanes is closed, so that no user can
/// close others' lanes by opening many. A lane that records is closed last, as its recording is lost.
package final class LaneTable: Sendable {
    static let limit = 256
    /// The most lanes of a user that have a listener. A listener takes a descriptor for each event loop.
    package static let doorLimit = 32
    private let lanes = Lock<[String: Lane]>([:])
    /// The capacity for the recordings of all lanes.
    package let recordingRoom = OctetRoom(limit: 2 * Recording.limit)

    package init() {}

    /// Opens a lane. Only the caller gets its token.
    package func open(_ options: Lane.Options, at now: Timestamp) -> Lane {
        let lane = Lane(options, at: now)
        lanes.withLock { lanes in
            // Added last, so that it is not closed itself: it may be the only lane that does not record.
            defer { lanes[lane.token] = lane }
            guard lanes.count >= LaneTable.limit else { return }
            let byOwner = Dictionary(grouping: lanes) { $0.value.options.owner }
            func count(_ owner: UInt32?, _ its: [(key: String, value: Lane)]) -> Int {
                its.count + (owner == options.owner ? 1 : 0)
            }
            let most = byOwner.max { count($0.key, $0.value) < count($1.key, $1.value) }?.value ?? []
            let oldest = most.min {
                ($0.value.records ? 1 : 0, $0.value.counts.last) < ($1.value.records ? 1 : 0, $1.value.counts.last)
            }
            if let oldest { lanes.removeValue(forKey: oldest.key)?.end() }
        }
        return lane
    }

    /// The lane of that name, for authorised callers.
    package func lane(_ id: String) -> Lane? { lanes.withLock { $0.values.first { $0.id == id } } }

    package func close(_ id: String) -> Lane? {
        lanes.withLock { lanes in
            guard let entry = lanes.first(where: { $0.value.id == id }) else { return nil }
            entry.value.end()
            return lanes.removeValue(forKey: entry.key)
        }
    }

    /// True if a user has as many lanes with a listener as may be.
    package func isFull(for owner: UInt32) -> Bool {
        lanes.withLock { lanes in
            lanes.values.count { $0.options.hasDoor && $0.options.owner == owner } >= Self.doorLimit
        }
    }

    /// All lanes in the order of their creation.
    package var all: [Lane] {
        lanes.withLock { Array($0.values) }.sorted { ($0.began, $0.id) < ($1.began, $1.id) }
    }

    /// The lane that a request names by the user `lane-TOKEN` in `Proxy-Authorization: Basic`.
    enum Naming {
        case none
        case open(Lane)
        /// A lane that has ended or never existed. Its requests may have been promised that no origin is asked.
        case unknown
    }

    func lane(namedIn fields: Fields) -> Naming {
        switch BasicCredentials.read(fields, .proxyAuthorization) {
        case .success(let user) where user.name.hasPrefix(Lane.userPrefix):
            let token = String(user.name.dropFirst(Lane.userPrefix.count))
            return lanes.withLock { $0[token] }.map(Naming.open) ?? .unknown
        case .success, .failure(.missing): return .none
        case .failure: return LaneTable.mayName(in: fields) ? .unknown : .none
        }
    }

    /// True if credentials that cannot be read would name a lane if they were read less strictly: the sender meant a
    /// lane.
    private static func mayName(in fields: Fields) -> Bool {
        let text = (fields[.proxyAuthorization] ?? "").utf8.filter { ASCII.isAlpha($0) || ASCII.isDigit($0) }
        // The base64 characters that `lane-` determines completely.
        return String(decoding: text, as: UTF8.self).contains("bGFuZS")
    }
}
