// SPDX-License-Identifier: Apache-2.0

/// The daemon's action when a load brings other content than the one before.
package struct ChangeRule: Sendable, Hashable {
    /// A program by its absolute path, and its arguments; empty for none.
    package var program: [String] = []
    /// The http or https URL that is sent a POST. It may contain secrets.
    package var webhook: String?
    /// How long further changes of the same URL are waited for, and told of together.
    package var debounce = Duration.seconds(5)

    /// Makes a rule that does nothing.
    package init() {}
}
