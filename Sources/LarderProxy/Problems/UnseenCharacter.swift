// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// True if it is not seen itself, but changes how a line looks, or where it ends: control characters, those that
    /// turn the direction of text or are invisible, and separators of lines.
    package var isUnseen: Bool {
        // Most are ASCII; above, the tables are asked.
        if value < 0x7F { return value < 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
