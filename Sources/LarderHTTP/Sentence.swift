// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text as the end of a sentence: with one full stop, whether it has one already or not.
    package var withFullStop: String { last.map { ".!?…".contains($0) } == true ? self : self + "." }
}
