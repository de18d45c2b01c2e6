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
    /// Stored parts that this load completes.
    let completion: Completion?
    let isBackground: Bool
    /// The stored variant that goes through the pipeline again; nobody is asked then.
    var remaking: Variant?
    /// Whether others may read along: not when the request asks for what only its client can use.
    let isJoinable: Bool
    /// Whether whoever asks wants the origin asked even if that has failed lately.
    var insists = false
    /// Which addresses the client may reach.
    let allowsAddress: (SocketAddress) -> Bool

    init(
        exchange: Exchange, _ retrieval: Retrieval, validating variant: Variant?, completing parts: Variant? = nil,
        isBackground: Bool
    ) {
        context = exchange.context
        service = retrieval.service
        resource = retrieval.resource
        uri = exchange.uri
        configuration = retrieval.configuration
        var client = exchange.head
        if isBackground, variant?.stored.isPartial == false {
            // What is to be replaced is the whole, whatever this client wants of it.
            client.fields.remove(.range)
            client.fields.remove(.ifRange)
        }
        if let variant, let accepted = variant.stored.acceptEncodingSentFor {
            // Other codings have other validators.
            client.fields[.acceptEncoding] = accepted.value.map { String(decoding: $0, as: UTF8.self) }
        }
        clientHead = client
        content = retrieval.content
        validating = variant
        self.isBackground = isBackground
        allowsAddress = service.allowedAddresses(for: uri, from: exchange.reach)
        insists = !isBackground && CacheControl.Request(exchange.head.fields).insists
        let isConditional = exchange.traits.has(.conditional) && !configuration.mayTransform
        isJoinable =
            !isConditional && exchange.traits.presence.isDisjoint(with: [.authorization, .range])
            && !retrieval.asksAlone
        var head = ForwardedRequest(
            uri: uri, way: retrieval.way, via: context.configuration.via, configuration: retrieval.configuration,
            spelling: exchange.spelling, forwarded: exchange.forwardedElement
        ).head(for: client)
        if configuration.mayTransform { FlightLaunch.removeConditions(from: &head.fields) }
        // All of the content is here.
        if content != nil { head.fields.remove(.expect) }
        if let variant, head.method == .get {
            let ifRange = head.fields.contains(.range) ? head.fields[.ifRange] : nil
            Validation.makeConditional(&head.fields, for: variant.stored)
            // If there is something new, the client may not want a part of it.
            head.fields[.ifRange] = ifRange
        }
        request = head
        // Parts of what the origin sent are no parts of what a pipeline makes of it.
        completion = (configuration.mayTransform ? nil : parts).flatMap { [client, head] in
            Completion(of: $0, for: client, sentAs: head)
        }
    }

    /// What asks the origin, as the resource's decorators say.
    var sender: InboundSender {
        InboundSender(context: context, service: service, uri: uri, configuration: configuration)
    }

    /// Takes off what clients say about octets that may not be the origin's: it is evaluated against what they get.
    static func removeConditions(from fields: inout Fields) {
        for name: FieldName in [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange] {
            fields.remove(name)
        }
    }

    func makeFlight() -> Flight {
        Flight(
            request: clientHead, at: context.now(), isValidation: validating != nil,
            isJoinable: isJoinable && remaking == nil, isRemaking: remaking != nil, window: context.proxy.pieceSize,
            expecting: 1, registry: context.proxy.registry)
    }

    /// Starts the load on this loop, as a task of its own.
    func run(_ flight: Flight) {
        let runner = FlightRunner(launch: self, flight: flight)
        context.spawn { await runner.run() }
    }
}
