// SPDX-License-Identifier: Apache-2.0

import LarderSettings

extension Override {
    private static let longestLifetime = Duration.seconds(365 * 86_400)

    /// The reason why a text is no lifetime of an override.
    package struct NotALifetime: Error {
        /// Names `longestLifetime`.
        package static let expected = "a duration from 1 s to 365 days with its unit"

        /// The text that was probably meant.
        package var suggestion: String?
    }

    /// A lifetime in the format of the configuration; at least a second, the unit of HTTP.
    package static func lifetime(_ text: String) throws(NotALifetime) -> Duration {
        switch UnitText.duration.read(text) {
        case .success(let nanoseconds):
            let lifetime = Duration.nanoseconds(nanoseconds)
            guard Duration.seconds(1)...longestLifetime ~= lifetime else { throw NotALifetime() }
            return lifetime
        case .failure(.noUnit(let suggestion)): throw NotALifetime(suggestion: suggestion)
        case .failure(.unknownUnit(_, let suggestion)): throw NotALifetime(suggestion: suggestion)
        case .failure: throw NotALifetime()
        }
    }
}
