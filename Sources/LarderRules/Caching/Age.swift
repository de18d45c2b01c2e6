// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How long ago the origin vouched for a response (RFC 9111 §4.2.3). The quantities have the RFC's names.
package enum Age {
    /// How far the clock may stand before an event of the past; beyond that it has been set back, and ages mean nothing.
    package static let clockTolerance = Duration.seconds(1)

    /// The age at receipt: the larger of what `Date` implies, and `Age` plus the time in flight.
    ///
    /// `Date` counts whole seconds, so it is compared with the whole second of receipt: the fraction would age each
    /// response by half a second on average.
    package static func correctedInitialAge(
        ageValue: Duration, dateValue: Timestamp?, requestTime: Timestamp, responseTime: Timestamp
    ) -> Duration {
        let apparentAge: Duration =
            dateValue.map { max(.zero, Timestamp(seconds: responseTime.seconds) - $0) } ?? .zero
        let responseDelay = max(.zero, responseTime - requestTime)
        let correctedAgeValue = ageValue + responseDelay
        return max(apparentAge, correctedAgeValue).clampedToRFC9111()
    }

    /// How old `stored` is at `now`. Never negative.
    @inlinable
    package static func currentAge(of stored: StoredResponse, at now: Timestamp) -> Duration {
        currentAge(stored.facts, at: now)
    }

    /// After the clock was set back, responses seem to come from the future. Their age is unknown, so beyond a second
    /// of tolerance they count as older than any lifetime.
    @inlinable
    static func currentAge(_ facts: StoredResponse.Facts, at now: Timestamp) -> Duration {
        if now < facts.usableFrom { return .foreverInRFC9111 }
        let residentTime = max(.zero, now - facts.responseTime)
        return min(facts.correctedInitialAge + residentTime, .foreverInRFC9111)
    }

    /// The value of `Age` (RFC 9111 §5.1): the first member of the first line if it is a number, else zero.
    package static func ageValue(_ fields: Fields) -> Duration {
        fields.withFirst(.age) { line in
            let member = line.firstIndex(of: 0x2C).map { UnsafeRawBufferPointer(rebasing: line[..<$0]) } ?? line
            return DeltaSeconds(ASCII.trimmed(member)).duration ?? .zero
        } ?? .zero
    }
}
