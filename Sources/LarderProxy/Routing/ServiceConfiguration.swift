// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
package import LarderRules

/// What a service's blocks come to for one resource and method.
package final class EffectiveConfiguration: Sendable {
    package let policy: CachePolicy
    /// Fields set on requests to the origin; those with nil are removed.
    package let fields: [(name: FieldName, value: String?)]
    /// The titles of the blocks that applied, in order.
    package let applied: [String]
    /// False when responses are not kept at all.
    package let caches: Bool

    init(policy: CachePolicy, fields: [(name: FieldName, value: String?)], applied: [String], caches: Bool) {
        self.policy = policy
        self.fields = fields
        self.applied = applied
        self.caches = caches
    }
}

/// The `configure` blocks of a service, compiled: later blocks override earlier ones, part by part (model: 2.3).
struct ServiceConfiguration: Sendable {
    private struct Entry: Sendable {
        let matches: @Sendable (ResourceURL) -> Bool
        let methods: Set<Method>?
        let block: ConfigureBlock
    }

    private let entries: [Entry]
    private let base: CachePolicy

    init(_ settings: ServiceSettings, policy: CachePolicy) {
        base = policy
        entries = settings.configure.map { block in
            Entry(
                matches: block.pattern.predicate(relativeTo: settings.baseURL.target), methods: block.methods.map(Set.init),
                block: block)
        }
    }

    func effective(for url: TargetURI, method: Method) -> EffectiveConfiguration {
        var policy = base
        var fields: [(name: FieldName, value: String?)] = []
        var applied: [String] = []
        var caches = true
        let subject = ResourceURL(url)
        for entry in entries where entry.methods?.contains(method) ?? true && entry.matches(subject) {
            applied.append(entry.block.title)
            entry.block.apply(to: &policy)
            if let caching = entry.block.cache { caches = caching != .none }
            for edit in entry.block.headers {
                fields.removeAll { $0.name == edit.name }
                fields.append((edit.name, edit.value?.reveal()))
            }
        }
        return EffectiveConfiguration(policy: policy, fields: fields, applied: applied, caches: caches)
    }
}

extension ConfigureBlock {
    fileprivate func apply(to policy: inout CachePolicy) {
        if let expirationTime { policy.expirationTime = expirationTime.time }
        if let expirationMode { policy.expirationMode = CachePolicy.ExpirationMode(expirationMode) }
        if let retryTime { policy.retryTime = retryTime }
        if let staleWhileRevalidate { policy.staleWhileRevalidate = staleWhileRevalidate }
        if let staleIfError { policy.staleIfError = staleIfError }
        if let offline { policy.offline = offline }
    }
}

extension CachePolicy.ExpirationMode {
    fileprivate init(_ mode: ExpirationMode) {
        self =
            switch mode {
            case .fallback: .fallback
            case .cap: .cap
            case .floor: .floor
            case .override: .override
            }
    }
}
