// SPDX-License-Identifier: Apache-2.0

package import Larder

/// A block's action when content changes.
package struct ChangeSettings: Sendable {
    /// A program by its absolute path, and its arguments.
    package var exec: [SettingText] = []
    /// An http or https URL.
    package var webhook: Secret?
    package var debounce = ChangeRule().debounce

    package init() {}

    package var rule: ChangeRule {
        var rule = ChangeRule()
        rule.program = exec.map(\.text)
        rule.webhook = webhook?.reveal()
        rule.debounce = debounce
        return rule
    }
}
