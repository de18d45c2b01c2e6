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

    /// True if the entry applies to every request.
    fileprivate var isUnconditional: Bool { methods == nil && matches == nil }

    package func applies(to method: Method) -> Bool {
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
    /// The entry that asked for this while it was being applied, so that it and later ones are missing; nil for none.
    let circle: String?
    /// True if it is to be remembered: not if it was made for an entry that was being applied, which may ask for itself.
    package var isWhole: Bool { version != 0 }
    /// True if there is something odd about the pipeline.
    let hasProblems: Bool

    init(_ configuration: Configuration, version: UInt64, entries: [String], circle: String? = nil) {
        self.circle = circle
        self.configuration = configuration
        self.version = version
        self.entries = entries
        fingerprint = configuration.fingerprint
        hasProblems =
            circle != nil || !configuration.pipeline.problems.isEmpty || !configuration.pipeline.unusedStages.isEmpty
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
    /// The entries that are being applied: their closures may ask for the configuration that they make.
    private let running: ThreadMarks<Int>

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

    init(
        version: UInt64, entries: [ConfigurationEntry], defaults: Configuration,
        running: ThreadMarks<Int> = ThreadMarks()
    ) {
        self.running = running
        self.version = version
        self.entries = entries
        self.defaults = defaults
        isUniform = entries.allSatisfy(\.isUnconditional)
    }

    /// The configuration for a resource and a method.
    package func configuration(for url: ResourceURL, method: Method) -> FrozenConfiguration {
        if isUniform {
            if let known = uniform.load() { return known }
            let made = compute { _ in true }
            return made.isWhole ? uniform.storeIfNil(made) : made
        }
        var applying = Selection()
        for number in entries.indices where entries[number].applies(to: method) {
            if entries[number].matches?(url) ?? true { applying.insert(number) }
        }
        if let known = computed[applying] { return known }
        let made = compute(applying.contains)
        return made.isWhole ? computed.value(for: applying) { made } : made
    }

    /// The result of the entries that apply; of those before an entry that asks for it while it is being applied.
    private func compute(_ isApplying: (Int) -> Bool) -> FrozenConfiguration {
        let outer = running.onThisThread
        let circle = outer.filter { $0 < entries.count && isApplying($0) }.min()
        var configuration = defaults
        var descriptions: [String] = []
        for (number, entry) in entries.prefix(circle ?? entries.count).enumerated() where isApplying(number) {
            running.during(number) { entry.apply(&configuration) }
            descriptions.append(entry.description)
        }
        // No set has the version 0.
        return FrozenConfiguration(
            configuration, version: outer.isEmpty ? version : 0, entries: descriptions,
            circle: circle.map { entries[$0].description })
    }

    /// True if an entry of the service is being applied on this thread.
    var isComputing: Bool { !running.onThisThread.isEmpty }

    func adding(_ entry: ConfigurationEntry) -> ConfigurationSet {
        ConfigurationSet(version: version + 1, entries: entries + [entry], defaults: defaults, running: running)
    }

    func replacing(_ entries: [ConfigurationEntry]) -> ConfigurationSet {
        ConfigurationSet(version: version + 1, entries: entries, defaults: defaults, running: running)
    }
}
