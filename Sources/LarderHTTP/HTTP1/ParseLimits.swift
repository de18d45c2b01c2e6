// SPDX-License-Identifier: Apache-2.0

/// How large the parts of a message may be, in bytes unless it says otherwise. Content is bounded elsewhere.
package struct ParseLimits: Hashable, Sendable {
    /// The start line with its CR LF.
    package var startLine: Int
    /// All field lines of the header section with the empty line that ends it.
    package var headerSection: Int
    /// How many field lines a header or trailer section may have.
    package var fieldLines: Int
    /// All chunk extensions of one message together.
    package var chunkExtensions: Int
    /// All field lines of the trailer section with the empty line that ends it.
    package var trailerSection: Int

    package init(
        startLine: Int = 8 << 10, headerSection: Int = 64 << 10, fieldLines: Int = 200, chunkExtensions: Int = 16 << 10,
        trailerSection: Int = 16 << 10
    ) {
        self.startLine = startLine
        self.headerSection = headerSection
        self.fieldLines = fieldLines
        self.chunkExtensions = chunkExtensions
        self.trailerSection = trailerSection
    }
}
