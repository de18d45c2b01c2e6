// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Everything a load needs that its first client knows, so that it can go on without that client.
struct FlightLaunch {
    let context: LoopContext
    let service: RoutedService
    let resource: Resource
    let uri: TargetURI
    let configuration: EffectiveConfiguration
    var policy: CachePolicy { configuration.policy }
    /// What the client sent; `Vary` is judged by it.
    let clientHead: RequestHead
    /// The request as it goes upstream.
    let request: RequestHead
    /// The content that goes with it, where that is part of the Resource's key.
    let content: ContentChunk?
    /// The stored variant this load validates.
    let validating: Variant?
    let isBackground: Bool
    /// Whether others may read along: not when the request asks for what only its client can use.
    let isJoinable: Bool
    /// Whether whoever asks wants the origin asked even if that has failed lately.
    var insists = false
    /// Which addresses the client may reach.
    let allowsAddress: (SocketAddress) -> Bool

    init(exchange: Exchange, _ retrieval: Retrieval, validating variant: Variant?, isBackground: Bool) {
        context = exchange.context
        service = retrieval.service
        resource = retrieval.resource
        uri = exchange.uri
        configuration = retrieval.configuration
        clientHead = exchange.head
        content = retrieval.content
        validating = variant
        self.isBackground = isBackground
        allowsAddress = service.allowedAddresses(for: uri, from: exchange.reach)
        insists = !isBackground && CacheControl.Request(exchange.head.fields).insists
        isJoinable = !exchange.traits.has(.conditional) && !exchange.traits.has(.authorization)
        var head = ForwardedRequest(
            uri: uri, way: retrieval.way, via: context.configuration.via, configuration: retrieval.configuration,
            spelling: exchange.spelling, forwarded: exchange.forwardedElement
        ).head(for: exchange.head)
        // All of the content is here.
        if content != nil { head.fields.remove(.expect) }
        if let variant, head.method == .get { Validation.makeConditional(&head.fields, for: variant.stored) }
        request = head
    }

    /// What asks the origin, as the resource's decorators say.
    var sender: InboundSender {
        InboundSender(context: context, service: service, uri: uri, configuration: configuration)
    }

    func makeFlight() -> Flight {
        Flight(
            request: clientHead, at: context.now(), isValidation: validating != nil, isJoinable: isJoinable,
            window: context.proxy.pieceSize, expecting: 1, registry: context.proxy.registry)
    }

    /// Starts the load on this loop, as a task of its own.
    func run(_ flight: Flight) {
        let runner = FlightRunner(launch: self, flight: flight)
        context.spawn { await runner.run() }
    }
}
