// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderRules

/// The remaining quotas reported by origins, by service and credential.
package final class QuotaTable: Sendable {
    package struct Line: Sendable, Equatable {
        package var service: String
        /// A number that identifies a credential without revealing it; different in each process.
        package var credential: UInt64
        package var left: RateLimit.Left
        /// The time of the report, in nanoseconds of the monotonic clock.
        package var at: Int64

        fileprivate func isReset(at monotonic: Int64) -> Bool { left.reset <= .nanoseconds(monotonic - at) }
    }

    private struct Key: Hashable {
        var service: String
        var credential: UInt64
    }

    private let lines = Lock<[Key: Line]>([:])
    /// The most credentials recorded.
    private static let limit = 10_000

    package init() {}

    /// - Parameter fields: of the request, as the origin got it.
    func note(_ response: ResponseHead, to fields: Fields, of service: String, now: Timestamp, at monotonic: Int64) {
        guard let left = RateLimit.left(response.fields, now: now) else { return }
        let key = Key(service: service, credential: QuotaTable.credential(in: fields))
        lines.withLock { lines in
            // Of as many credentials, any may go.
            if lines.count >= QuotaTable.limit, lines[key] == nil { lines.remove(at: lines.startIndex) }
            lines[key] = Line(service: service, credential: key.credential, left: left, at: monotonic)
        }
    }

    /// For how long the remaining quota is at most `reserve`; nil when there is more, or nothing is known.
    ///
    /// - Parameter limit: how long a report counts. After that a request finds out whether it still holds.
    func pause(
        reserve: Int, for fields: Fields, of service: String, at monotonic: Int64, limit: Duration
    ) -> Duration? {
        let key = Key(service: service, credential: QuotaTable.credential(in: fields))
        guard let line = lines.withLock({ $0[key] }), line.left.remaining <= Int64(reserve) else { return nil }
        let rest = min(line.left.reset, limit) - .nanoseconds(monotonic - line.at)
        return rest > .zero ? rest : nil
    }

    /// The quotas that have not been reset, in the order of their services.
    func all(at monotonic: Int64) -> [Line] {
        lines.withLock { lines in
            lines = lines.filter { !$0.value.isReset(at: monotonic) }
            return lines.values.map { line in
                var line = line
                line.left.reset -= .nanoseconds(monotonic - line.at)
                line.at = monotonic
                return line
            }.sorted { ($0.service, $0.credential) < ($1.service, $1.credential) }
        }
    }

    private static func credential(in fields: Fields) -> UInt64 {
        var hasher = Hasher()
        for name in Credentials.all(in: fields) {
            hasher.combine(name.canonical)
            hasher.combine(fields[all: name])
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
