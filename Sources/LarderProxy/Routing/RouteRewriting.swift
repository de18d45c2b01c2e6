// SPDX-License-Identifier: Apache-2.0

/// What one of a service's routes made of a URL, for people.
package struct RouteRewriting: Sendable, Equatable {
    /// The rule's place in the list, from 0 on.
    package var place: Int
    package var rule: RouteRule
    package var original: String
    package var result: String

    package init(place: Int, rule: RouteRule, original: String, result: String) {
        (self.place, self.rule, self.original, self.result) = (place, rule, original, result)
    }
}
