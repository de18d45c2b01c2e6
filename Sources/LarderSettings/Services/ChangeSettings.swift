// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP

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

extension ChangeRule {
    /// The rule as `larder explain` words it. The path of a webhook is often a secret, so only its origin appears.
    var words: String {
        let place = webhook.map { "webhook at \((try? TargetURI($0))?.origin ?? "set")" }
        return [program.first.map { "exec \($0)" }, place].compactMap(\.self).joined(separator: ", ")
            + " after \(UnitText.write(debounce))"
    }
}
