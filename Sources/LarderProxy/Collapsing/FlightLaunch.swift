// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Everything a load needs that its first client knows, so that it can go on without that client. Confined to the loop
/// that runs it; it changes only before it runs.
final class FlightLaunch {
    let context: LoopContext
    let service: RoutedService
    let resource: Resource
    let uri: TargetURI
    let configuration: EffectiveConfiguration
    /// The version of the service's configuration that `configuration` was made from.
    let version: UInt64
    /// By what rules the response is kept.
    let policy: CachePolicy
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
    var bypassesBackoff = false
    /// Which addresses the client may reach.
    let allowsAddress: (SocketAddress) -> Bool

    /// - Parameter clientHead: what the client sent, which asks for the whole where only that can be used.
    private init(
        _ context: LoopContext, _ service: RoutedService, _ resource: Resource, _ uri: TargetURI,
        _ configuration: EffectiveConfiguration, version: UInt64, clientHead: RequestHead, request: RequestHead,
        content: ContentChunk?, validating: Variant?, completing parts: Variant?, isBackground: Bool,
        isJoinable: Bool, from reach: Reach
    ) {
        self.context = context
        self.service = service
        self.resource = resource
        self.uri = uri
        self.configuration = configuration
        self.version = version
        self.clientHead = clientHead
        policy = configuration.policy.narrowed(for: clientHead.fields)
        self.request = request
        self.content = content
        self.validating = validating
        self.isBackground = isBackground
        self.isJoinable = isJoinable
        allowsAddress = service.allowedAddresses(for: uri, from: reach)
        completion = parts.flatMap { Completion(of: $0, for: clientHead, sentAs: request) }
    }

    /// The load that a client's request makes necessary.
    convenience init(
        exchange: Exchange, _ retrieval: Retrieval, validating variant: Variant?, completing parts: Variant? = nil,
        isBackground: Bool
    ) {
        let configuration = retrieval.configuration
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
        var head = ForwardedRequest(
            uri: exchange.uri, way: retrieval.way, via: exchange.context.configuration.via(to: exchange.uri),
            configuration: configuration, spelling: exchange.spelling, forwarded: exchange.forwardedElement
        ).head(for: client)
        if configuration.mayTransform { FlightLaunch.removeConditions(from: &head.fields) }
        // All of the content is here.
        if retrieval.content != nil { head.fields.remove(.expect) }
        if let variant, head.method == .get {
            let ifRange = head.fields.contains(.range) ? head.fields[.ifRange] : nil
            Validation.makeConditional(&head.fields, for: variant.stored)
            // If there is something new, the client may not want a part of it.
            head.fields[.ifRange] = ifRange
        }
        self.init(
            exchange.context, retrieval.service, retrieval.resource, exchange.uri, configuration,
            version: retrieval.version, clientHead: client, request: head, content: retrieval.content,
            validating: variant,
            // Parts of what the origin sent are no parts of what a pipeline makes of it.
            completing: configuration.mayTransform ? nil : parts, isBackground: isBackground,
            isJoinable: exchange.isJoinable(retrieval), from: exchange.reach)
        bypassesBackoff = !isBackground && CacheControl.Request(exchange.head.fields).bypassesBackoff
    }

    /// The load that an operator asks for.
    convenience init(
        _ subject: ResourceSubject, resource: Resource, head: RequestHead, configuration: EffectiveConfiguration,
        version: UInt64, validating variant: Variant?, completing parts: Variant?, context: LoopContext, reach: Reach
    ) {
        var request = ForwardedRequest(
            uri: subject.uri, way: subject.way, via: context.configuration.via(to: subject.uri),
            configuration: configuration,
            spelling: subject.spelling
        ).head(for: head)
        if configuration.mayTransform { FlightLaunch.removeConditions(from: &request.fields) }
        if let variant { Validation.makeConditional(&request.fields, for: variant.stored) }
        self.init(
            context, subject.service, resource, subject.uri, configuration, version: version, clientHead: head,
            request: request,
            content: nil, validating: variant, completing: parts, isBackground: false,
            isJoinable: RequestTraits(of: head).presence.isDisjoint(with: [.conditional, .authorization, .range]),
            from: reach)
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
            expecting: 1, registry: context.registry)
    }

    /// Starts the load on this loop, as a task of its own.
    func run(_ flight: Flight) { FlightRunner(launch: self, flight: flight).start() }
}
