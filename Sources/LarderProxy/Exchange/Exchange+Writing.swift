// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules
package import LarderStores
import LarderUpstream
import Logging

extension Exchange {
    /// Applies the effect of a write to stored responses. The response's content becomes the resource's if the caller
    /// passes it to the returned promotion.
    ///
    /// Done before the client gets the response: a client that has seen a write succeed must not get earlier state.
    func settleWrite(
        _ response: ResponseHead, _ configuration: EffectiveConfiguration, _ content: RepeatableContent?,
        _ service: RoutedService
    ) async -> Promotion? {
        guard !head.method.isSafe else { return nil }
        let effect = WriteEffect.decide(
            head, target: uri, response: response, configured: configuration.frozen.configuration.afterWrite,
            isContentKept: content?.isWhole ?? (self.content == nil))
        if !effect.groups.isEmpty { context.proxy.invalidate(groups: effect.groups, origin: uri.origin) }
        forget(effect.unusable)
        if !effect.patterns.isEmpty { await context.proxy.forget(effect.patterns, of: service) }
        switch effect.sequel {
        case .nothing:
            guard head.method == .post, response.status == 200, response.fields.contains(.contentLocation) else {
                return nil
            }
            return WrittenState(self, service)?.representation(in: response)
        case .reload:
            reload(service)
            return nil
        case .override:
            WrittenState(self, service)?.land(contentOfRequest: content?.octets ?? [])
            return nil
        case .promote: return WrittenState(self, service)?.promotion(of: response)
        }
    }

    /// Applies the effect of a write without a response: the client left, or the connection broke. The write may have
    /// been performed.
    func settleUnfinishedWrite(
        _ error: any Error, _ configuration: EffectiveConfiguration, _ service: RoutedService
    ) async {
        guard !head.method.isSafe, !onlyReads else { return }
        if let error = error as? UpstreamError, error.isUnreachable || error.hold != nil { return }
        let effect = WriteEffect.decide(
            head, target: uri, response: ResponseHead(status: 200),
            configured: configuration.frozen.configuration.afterWrite, isContentKept: false)
        forget(effect.unusable)
        if !effect.patterns.isEmpty { await context.proxy.forget(effect.patterns, of: service) }
    }

    private func forget(_ targets: [TargetURI]) {
        let table = context.configuration.router.table
        for target in targets {
            context.proxy.invalidate(target, service: table.claiming(target) ?? table.unclaimed)
        }
        // Responses stored for the client's own spelling of the URI have a key of their own.
        guard !spelling.isEmpty, !targets.isEmpty else { return }
        context.proxy.invalidate(uri, spelling: spelling, service: table.claiming(uri) ?? table.unclaimed)
    }

    /// Loads the resource as the writing client would have.
    private func reload(_ service: RoutedService) {
        let subject = ResourceSubject(service: service, way: record.way, uri: uri, spelling: spelling)
        let fields = WrittenState.readingFields(of: head.fields)
        let (proxy, reach, url) = (context.proxy, reach, uri)
        context.spawn {
            do {
                _ = try await proxy.load(subject, fields: fields, onlyIfNeeded: false, from: reach)
            } catch {
                proxy.logger.debug(
                    "a resource could not be loaded after a write", metadata: ["url": "\(url)", "error": "\(error)"])
            }
        }
    }
}

extension Proxy {
    /// Invalidates all stored responses that `patterns` match, in every partition of the service. Memory is searched on
    /// a background thread.
    func forget(_ patterns: [GlobPattern], of service: RoutedService) async {
        tell(invalid: patterns, of: service)
        let predicates = patterns.map { $0.predicate(relativeTo: service.base) }
        await forget(service, because: .superseded) { url in predicates.contains { $0(url) } }
    }

    /// The same for the URLs that `isMatch` accepts.
    package func forget(
        _ service: RoutedService, because reason: RemovalReason,
        where isMatch: @escaping @Sendable (ResourceURL) -> Bool = { _ in true }
    ) async {
        // Memory first: loads under way are not stored after it. Then the store; and memory again, for responses read
        // from the store meanwhile.
        await forgetInMemory(service, reason == .superseded, isMatch)
        guard let storing else { return }
        _ = await storing.store.removeAll(
            where: EntityMatch(
                service: service.name, stage: Storing.stage, predicate: { isMatch(ResourceURL($0.url)) }),
            because: reason)
        await forgetInMemory(service, reason == .superseded, isMatch)
    }

    private func forgetInMemory(
        _ service: RoutedService, _ isInvalidation: Bool, _ isMatch: @escaping @Sendable (ResourceURL) -> Bool
    ) async {
        let number = service.number
        do {
            try await walkers.run { [self] in
                registry.forEach { resource in
                    guard resource.key.serviceNumber == number, isMatch(resource.url) else { return }
                    wipe(resource, isInvalidation: isInvalidation)
                }
            }
        } catch {
            logger.warning("too many walks through memory; some stays stored", metadata: ["service": "\(service.name)"])
        }
    }
}
