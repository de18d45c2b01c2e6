// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// True if the character is not visible, but changes the appearance or the end of a line: control characters,
    /// characters that are invisible or turn the direction of text, and separators of lines.
    package var isUnseen: Bool {
        // Most are ASCII; above, the tables are asked.
        if value < 0x7F { return value < 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
