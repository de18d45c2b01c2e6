// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Which stored responses the daemon validates before they are out of date, or at set times.
package enum RefreshAhead: Sendable, Hashable {
    case off
    /// Responses that have an observer.
    case watched
    /// Responses that were requested several times since they arrived.
    case popular
    /// All responses, this long after they arrived.
    case every(Duration)
    /// All responses, once a day, this many minutes after midnight of local time.
    case daily(minutes: Int)

    /// The state of a stored response.
    package struct Standing: Sendable {
        /// When it came, or was validated last.
        package var responseTime: Timestamp
        package var freshUntil: Timestamp
        package var isObserved: Bool
        /// How often it was answered with since then.
        package var uses: UInt64

        package init(responseTime: Timestamp, freshUntil: Timestamp, isObserved: Bool = false, uses: UInt64 = 0) {
            self.responseTime = responseTime
            self.freshUntil = freshUntil
            self.isObserved = isObserved
            self.uses = uses
        }
    }

    package enum Decision: Sendable, Hashable {
        case refresh
        case wait(until: Timestamp)
        /// Not before it has come anew.
        case drop(Reason)
    }

    package enum Reason: String, Sendable, Hashable {
        case off
        /// It has no lifetime of which most could be over.
        case hasNoLifetime
        case isNotObserved
        case isNotPopular
    }

    /// How many uses within a lifetime make a response popular.
    package static let popularUses: UInt64 = 3
    /// The least time between two requests for one resource.
    package static let leastInterval = Duration.seconds(5)
    /// The time over which the requests of a daily schedule are spread.
    package static let dailySpread = Duration.seconds(300)

    /// Decides if a stored response is validated now, later or not at all.
    ///
    /// - Parameters:
    ///   - jitter: from 0 to 1, at random, so that responses that came together are not all validated together.
    ///   - offset: the offset of local time from UTC in seconds, for the daily schedule.
    package func decide(
        _ standing: Standing, now: Timestamp, jitter: Double, offset: Int64 = 0
    ) -> Decision {
        let hundredths = Int(100 * min(max(jitter, 0), 1))
        let due: Timestamp
        switch self {
        case .off: return .drop(.off)
        case .watched, .popular:
            let lifetime = standing.freshUntil - standing.responseTime
            guard standing.freshUntil.nanoseconds != .min, lifetime > .zero else { return .drop(.hasNoLifetime) }
            // Between eight and nine tenths of it.
            due = standing.responseTime + max(lifetime * (900 - hundredths) / 1_000, RefreshAhead.leastInterval)
        case .every(let interval):
            due = standing.responseTime + max(interval * (1_000 - hundredths) / 1_000, RefreshAhead.leastInterval)
        case .daily(let minutes):
            due =
                RefreshAhead.instant(minutes: minutes, after: standing.responseTime, offset: offset)
                + RefreshAhead.dailySpread * hundredths / 100
        }
        guard now >= due else { return .wait(until: due) }
        switch self {
        case .watched where !standing.isObserved: return .drop(.isNotObserved)
        case .popular where standing.uses < RefreshAhead.popularUses: return .drop(.isNotPopular)
        default: return .refresh
        }
    }

    /// The first instant after `moment` that is so many minutes after midnight.
    static func instant(minutes: Int, after moment: Timestamp, offset: Int64) -> Timestamp {
        let day: Int64 = 86_400
        let local = moment.seconds + offset
        let midnight = local - ((local % day) + day) % day
        let today = midnight + Int64(minutes) * 60 - offset
        return Timestamp(seconds: today > moment.seconds ? today : today + day)
    }
}
