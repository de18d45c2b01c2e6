// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP
import LarderIO

/// One piece of configuration: what it applies to and what it changes.
package struct ConfigurationEntry: Sendable {
    package let description: String
    /// nil for every method.
    package let methods: Set<Method>?
    /// nil for every URL.
    package let matches: (@Sendable (ResourceURL) -> Bool)?
    package let apply: @Sendable (inout Configuration) -> Void

    package init(
        description: String, methods: Set<Method>? = nil,
        matches: (@Sendable (ResourceURL) -> Bool)? = nil,
        apply: @escaping @Sendable (inout Configuration) -> Void
    ) {
        self.description = description
        self.methods = methods
        self.matches = matches
        self.apply = apply
    }

    /// The same entry for a daemon, which transforms responses to other methods than GET only where an entry for those
    /// methods has changed the pipeline. The usual methods of `configureTransformer` are not meant by that.
    package func namingTransformedMethods(besides usual: Set<Method>) -> ConfigurationEntry {
        guard let methods, methods != usual, methods != [.get] else { return self }
        return ConfigurationEntry(description: description, methods: methods, matches: matches) {
            [apply] configuration in
            let before = configuration.pipeline.fingerprint
            apply(&configuration)
            if configuration.pipeline.fingerprint != before { configuration.transformedMethods.formUnion(methods) }
        }
    }

    /// The methods every entry applies to unless it says otherwise. Others are configured like GET, except by
    /// entries that name them.
    private static let known: Set<Method> = [.options, .get, .head, .post, .put, .patch, .delete]

    /// Whether it applies whatever is asked for.
    fileprivate var isUnconditional: Bool { methods == nil && matches == nil }

    fileprivate func applies(to method: Method) -> Bool {
        guard let methods else { return true }
        return methods.contains(method) || (!ConfigurationEntry.known.contains(method) && methods.contains(.get))
    }
}

/// A configuration as computed, and what it came from. It never changes.
package final class FrozenConfiguration: Sendable {
    package let configuration: Configuration
    package let version: UInt64
    /// The descriptions of the entries that applied, in order.
    package let entries: [String]
    /// Identifies the transformation of responses for clients; 0 when they get the origin's response.
    package let fingerprint: UInt64
    /// Whether there is something odd about the pipeline.
    let hasProblems: Bool

    init(_ configuration: Configuration, version: UInt64, entries: [String]) {
        self.configuration = configuration
        self.version = version
        self.entries = entries
        fingerprint = configuration.fingerprint
        hasProblems = !configuration.pipeline.problems.isEmpty || !configuration.pipeline.unusedStages.isEmpty
    }
}

/// All entries of a service at one version. Resources to which the same entries apply share one configuration, so
/// each entry runs once for each such group and method, not once for each resource.
package final class ConfigurationSet: Sendable {
    package let version: UInt64
    package let entries: [ConfigurationEntry]
    /// The configuration before any entry is applied.
    package let defaults: Configuration
    private let computed = OnceMap<Selection, FrozenConfiguration>()
    /// The configuration of every URL and method, where all entries apply to all of them.
    private let uniform = OnceReference<FrozenConfiguration>()
    private let isUniform: Bool

    /// Some of the entries, a bit for each.
    private struct Selection: Hashable, Sendable {
        private var first: UInt64 = 0
        /// For those from the 65th on.
        private var others: [UInt64] = []

        mutating func insert(_ number: Int) {
            let bit: UInt64 = 1 << UInt64(number % 64)
            if number < 64 { return first |= bit }
            while others.count < number / 64 { others.append(0) }
            others[number / 64 - 1] |= bit
        }

        func contains(_ number: Int) -> Bool {
            let word = number < 64 ? first : number / 64 <= others.count ? others[number / 64 - 1] : 0
            return word & 1 << UInt64(number % 64) != 0
        }
    }

    init(version: UInt64, entries: [ConfigurationEntry], defaults: Configuration) {
        self.version = version
        self.entries = entries
        self.defaults = defaults
        isUniform = entries.allSatisfy(\.isUnconditional)
    }

    /// The configuration for a resource and a method.
    package func configuration(for url: ResourceURL, method: Method) -> FrozenConfiguration {
        // An invalid URL is never asked for, so nothing is run for it.
        guard url.isValid else { return FrozenConfiguration(Configuration(), version: version, entries: []) }
        if isUniform { return uniform.load() ?? uniform.storeIfNil(compute { _ in true }) }
        var applying = Selection()
        for number in entries.indices where entries[number].applies(to: method) {
            if entries[number].matches?(url) ?? true { applying.insert(number) }
        }
        return computed.value(for: applying) { compute(applying.contains) }
    }

    /// The result of the entries that apply.
    private func compute(_ isApplying: (Int) -> Bool) -> FrozenConfiguration {
        var configuration = defaults
        var descriptions: [String] = []
        for (number, entry) in entries.enumerated() where isApplying(number) {
            entry.apply(&configuration)
            descriptions.append(entry.description)
        }
        return FrozenConfiguration(configuration, version: version, entries: descriptions)
    }

    func adding(_ entry: ConfigurationEntry) -> ConfigurationSet {
        ConfigurationSet(version: version + 1, entries: entries + [entry], defaults: defaults)
    }

    func replacing(_ entries: [ConfigurationEntry]) -> ConfigurationSet {
        ConfigurationSet(version: version + 1, entries: entries, defaults: defaults)
    }
}
