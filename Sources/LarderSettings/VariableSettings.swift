// SPDX-License-Identifier: Apache-2.0

/// A value that may change while the daemon runs, as declared in the configuration.
package struct VariableSettings: Sendable {
    package var name = ""
    package var env: String?
    package var file: String?
    package var value: Secret?
    package var onChange: [VariableReaction] = [.invalidateConfiguration]
    /// The source's value when the configuration was read; nil without a source.
    package var initial: Secret?

    package init() {}

    /// The source of the first value, in words.
    package var source: String {
        if env != nil { return "env" }
        if file != nil { return "file" }
        return value != nil ? "value" : "none"
    }

    /// True if a value is valid: it is used in fields.
    package static func isUsable(_ text: String) -> Bool {
        (1...8_192).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }
}

/// The reaction to a change of a variable.
package enum VariableReaction: String, Sendable, CaseIterable {
    /// The services that use it get the new value; this is always done.
    case invalidateConfiguration
    /// And remove everything stored for them.
    case wipeAll
}
