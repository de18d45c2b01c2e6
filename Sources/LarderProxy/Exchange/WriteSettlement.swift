// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream
import Logging

/// Applies the effect of a write to stored responses. Confined to its loop.
struct WriteSettlement {
    private let request: ClientRequest
    private let service: RoutedService
    private let configuration: EffectiveConfiguration
    private let context: LoopContext

    init(of request: ClientRequest, _ service: RoutedService, _ configuration: EffectiveConfiguration) {
        self.request = request
        self.service = service
        self.configuration = configuration
        context = request.context
    }

    /// Applies the effect of a write with this response. The response's content becomes the resource's if the caller
    /// passes it to the returned promotion.
    ///
    /// To be called before the client gets the response: a client that has seen a write succeed must not get earlier
    /// state.
    ///
    /// - Parameter isForAnotherPartition: whether it was made with credentials that were renewed on the way.
    func settle(
        _ response: ResponseHead, _ content: RepeatableContent?, isForAnotherPartition: Bool
    ) async -> Promotion? {
        guard !request.head.method.isSafe, !request.onlyReads else { return nil }
        let effect = effect(of: response, isContentKept: content?.isWhole ?? (request.content == nil))
        await apply(effect)
        if isForAnotherPartition, effect.sequel != .reload { return nil }
        switch effect.sequel {
        case .nothing:
            guard request.head.method == .post, response.status == 200, response.fields.contains(.contentLocation)
            else { return nil }
            return WrittenState(request, service)?.representation(in: response)
        case .reload:
            reload()
            return nil
        case .override:
            WrittenState(request, service)?.land(contentOfRequest: content?.octets ?? [])
            return nil
        case .promote: return WrittenState(request, service)?.promotion(of: response)
        }
    }

    /// Applies the effect of a write without a response: the client left, or the connection broke. The write may have
    /// been performed.
    func settle(unfinishedBecauseOf error: any Error) async {
        guard !request.head.method.isSafe, !request.onlyReads else { return }
        if let error = error as? UpstreamError, error.isUnreachable || error.hold != nil { return }
        await apply(effect(of: ResponseHead(status: 200), isContentKept: false))
    }

    /// Applies the effect once more, where part of the request's content was sent after the response had begun: what was
    /// stored meanwhile may be from before it.
    func settleAgain(_ response: ResponseHead) async {
        guard !request.head.method.isSafe, !request.onlyReads else { return }
        let effect = effect(of: response, isContentKept: false)
        await apply(effect)
        if effect.sequel == .reload { reload() }
    }

    private func effect(of response: ResponseHead, isContentKept: Bool) -> WriteEffect {
        WriteEffect.decide(
            request.head, target: request.uri, response: response,
            configured: configuration.frozen.configuration.afterWrite, isContentKept: isContentKept)
    }

    private func apply(_ effect: WriteEffect) async {
        if !effect.groups.isEmpty { context.proxy.invalidate(groups: effect.groups, origin: request.uri.origin) }
        forget(effect.unusable)
        if !effect.patterns.isEmpty { await context.proxy.forget(effect.patterns, of: service) }
    }

    private func forget(_ targets: [TargetURI]) {
        let table = context.configuration.router.table
        for target in targets {
            for holder in table.holders(of: target) { context.proxy.invalidate(target, service: holder) }
        }
        // Responses stored for the client's own spelling of the URI have a key of their own.
        let (uri, spelling) = (request.uri, request.spelling)
        guard !spelling.isEmpty, !targets.isEmpty else { return }
        for holder in table.holders(of: uri) { context.proxy.invalidate(uri, spelling: spelling, service: holder) }
    }

    /// Loads the resource as the writing client would now: the write may have renewed a credential.
    private func reload() {
        let subject = ResourceSubject(
            service: context.current(service) ?? service, form: request.form, uri: request.uri,
            spelling: request.spelling)
        let fields = WrittenState.readingFields(of: request.head.fields)
        let (proxy, network, url) = (context.proxy, request.network, request.uri)
        context.spawn {
            do {
                _ = try await proxy.load(subject, fields: fields, onlyIfNeeded: false, from: network)
            } catch {
                proxy.logger.debug(
                    "a resource could not be loaded after a write",
                    metadata: ["url": "\(SecretText.logged(url: url.string))", "error": "\(error)"])
            }
        }
    }
}
