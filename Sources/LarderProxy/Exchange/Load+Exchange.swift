// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Load {
    /// The load for a client's request.
    convenience init(
        exchange: Exchange, _ retrieval: Retrieval, validating variant: Variant?, completing parts: Variant? = nil,
        isBackground: Bool
    ) {
        let configuration = retrieval.configuration
        var client = exchange.head
        if isBackground, variant?.stored.isPartial == false {
            // The whole representation is replaced, whatever range this client asks for.
            client.fields.remove(.range)
            client.fields.remove(.ifRange)
        }
        if let variant, let accepted = variant.stored.acceptEncodingSentFor {
            // Other codings have other validators.
            client.fields[.acceptEncoding] = accepted.value.map { String(decoding: $0, as: UTF8.self) }
        }
        var head = exchange.takeForwarded()
        ForwardedRequest(
            uri: exchange.uri, way: retrieval.way, via: exchange.context.via(to: exchange.uri),
            configuration: configuration, spelling: exchange.spelling, forwarded: exchange.forwardedElement
        ).write(client, to: &head)
        if configuration.mayTransform { Load.removeConditions(from: &head.fields) }
        // All of the content has been received.
        if retrieval.content != nil { head.fields.remove(.expect) }
        if let variant, head.method == .get {
            let ifRange = head.fields.contains(.range) ? head.fields[.ifRange] : nil
            Validation.makeConditional(&head.fields, for: variant.stored)
            // If the representation has changed, the client may not want a part of it.
            head.fields[.ifRange] = ifRange
        }
        exchange.forwarded = head
        self.init(
            exchange.context, retrieval.service, retrieval.resource, exchange.uri, configuration,
            version: retrieval.version, clientHead: client, request: head, content: retrieval.content,
            validating: variant,
            // Parts of the origin's content are not parts of the pipeline's output.
            completing: configuration.mayTransform ? nil : parts, isBackground: isBackground,
            isJoinable: exchange.isJoinable(retrieval), from: exchange.reach)
        if retrieval.content == nil, !retrieval.isSharedSilent { sharing = isJoinable && parts == nil ? .asks : .gives }
        sharedLook = retrieval.sharedLook
        isSharedLost = retrieval.isSharedLost
        bypassesBackoff =
            !isBackground && exchange.traits.has(.cacheControl)
            && CacheControl.Request(exchange.head.fields).bypassesBackoff
    }
}
