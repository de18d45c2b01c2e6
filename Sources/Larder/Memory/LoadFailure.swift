// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules

/// The last failure of a load, and until when it stands in for asking again (T-06).
package struct LoadFailure: Sendable {
    package let at: Timestamp
    /// Until when requests are answered with it instead of asking the upstream again.
    package let retryAt: Timestamp
    package let error: any Error
    /// That of the response that failed, if there was one: the requests that would have got it.
    package let variance: Variance

    package init(at: Timestamp, retryAt: Timestamp, error: any Error, variance: Variance = .none) {
        self.at = at
        self.retryAt = retryAt
        self.error = error
        self.variance = variance
    }
}
