// SPDX-License-Identifier: Apache-2.0

package import LarderSettings

/// The effect of one of a service's routes on a URL, for people.
package struct RouteRewriting: Sendable, Equatable {
    /// The rule's index in the list, from 0.
    package var place: Int
    package var rule: RouteRule
    package var original: String
    package var result: String

    package init(place: Int, rule: RouteRule, original: String, result: String) {
        (self.place, self.rule, self.original, self.result) = (place, rule, original, result)
    }
}
