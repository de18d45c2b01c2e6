// SPDX-License-Identifier: Apache-2.0

/// How often text in text is decoded while secrets are looked for, so that neither time nor stack grows with what
/// others nest: text that is deeper is replaced as a whole.
struct SecretLayers {
    /// Strings in strings.
    static let ofStrings = 8
    /// Percent-coding of percent-coded text.
    static let ofPercent = 4

    /// How many layers of strings may still be decoded.
    private(set) var strings = SecretLayers.ofStrings
    /// Whether parameters' values are decoded. Not in what has been: all of it is decoded together then.
    private(set) var readsPercent = true

    /// The layers in a string; nil if that is not to be decoded.
    var inString: SecretLayers? {
        var layers = self
        layers.strings -= 1
        return layers.strings > 0 ? layers : nil
    }

    /// The layers in a parameter's value.
    var inPercent: SecretLayers {
        var layers = self
        layers.readsPercent = false
        layers.strings = min(strings, SecretLayers.ofPercent)
        return layers
    }
}
