// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderRules

/// The things a load tells others of: contents that are compared with those before them, where `onChange` says so, and
/// responses that may be refreshed ahead.
extension Load {
    /// The rule by which listeners are told of this load. A user's own responses concern nobody else.
    private var changeRule: ChangeRule? { resource.partition.isOfUser ? nil : configuration.changeRule }

    /// The stored response that one like `stored` replaces; nil where none is, or nobody wants to know.
    func predecessor(of stored: StoredResponse) -> Variant? {
        guard changeRule != nil else { return nil }
        return resource.memory.snapshot.variants.first {
            $0.stored.variance == stored.variance && !$0.isOverride && !$0.stored.isPartial && !$0.stored.status.isError
        }
    }

    /// Has the content of a response compared that this load has stored. Errors are no content of their resource.
    ///
    /// - Parameter variant: nil for one that is in the store alone.
    func noteStored(_ stored: StoredResponse, _ variant: Variant?, after predecessor: Variant?) {
        guard let rule = changeRule, !stored.status.isError, !stored.isPartial else { return }
        context.proxy.changes.note(
            ChangeNotifier.Loaded(
                resource: resource, service: service, configuration: configuration, rule: rule, stored: stored,
                variant: variant, predecessor: predecessor), on: context)
    }

    /// Records what this load has stored or confirmed, for `refreshAhead`.
    ///
    /// - Parameter variant: nil for a response that is in the store alone.
    func noteAhead(_ variant: Variant?) {
        guard configuration.refreshAhead != .off else { return }
        if let variant {
            context.proxy.ahead.note(
                variant, of: resource, service, configuration, sent: clientHead.fields, on: context)
        } else if let target = AheadTarget(resource, service) {
            context.proxy.ahead.consider(target, in: .seconds(1), on: context)
        }
    }
}
