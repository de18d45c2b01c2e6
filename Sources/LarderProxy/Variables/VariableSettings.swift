// SPDX-License-Identifier: Apache-2.0

/// A value that may change while the daemon runs, as the configuration declares it.
package struct VariableSettings: Sendable {
    package var name = ""
    package var env: String?
    package var file: String?
    package var value: Secret?
    package var onChange: [VariableReaction] = [.invalidateConfiguration]
    /// What the source had when the configuration was read; nil without a source.
    package var initial: Secret?

    package init() {}

    /// Where the first value comes from, in words.
    package var source: String {
        if env != nil { return "env" }
        if file != nil { return "file" }
        return value != nil ? "value" : "none"
    }

    /// What a value may be: it goes into fields.
    package static func isUsable(_ text: String) -> Bool {
        (1...8_192).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }
}

/// What follows a change of a variable.
package enum VariableReaction: String, Sendable, CaseIterable {
    /// The services that use it serve by the new value; this is done in any case.
    case invalidateConfiguration
    /// And forget everything that is stored for them.
    case wipeAll
}
