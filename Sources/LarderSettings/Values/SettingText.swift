// SPDX-License-Identifier: Apache-2.0

/// A text that may be long, and how it was written.
package struct SettingText: Sendable {
    package var text: String
    package var written: String

    package init(_ text: String, written: String? = nil) {
        self.text = text
        self.written = written ?? text
    }
}
