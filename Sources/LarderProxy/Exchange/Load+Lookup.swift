// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Load {
    /// The load for a client's request.
    convenience init(
        for lookup: CacheLookup, validating variant: Variant?, completing parts: Variant? = nil, isBackground: Bool
    ) {
        let (configuration, asked) = (lookup.configuration, lookup.request)
        var client = asked.head
        if isBackground, variant?.stored.isPartial == false {
            // The whole representation is replaced, whatever range this client asks for.
            client.fields.remove(.range)
            client.fields.remove(.ifRange)
        }
        if let variant, let accepted = variant.stored.acceptEncodingSentFor {
            // Other codings have other validators.
            client.fields[.acceptEncoding] = accepted.value.map { String(decoding: $0, as: UTF8.self) }
        }
        var head = asked.takeForwarded()
        ForwardedRequest(
            uri: asked.uri, form: asked.form, via: lookup.context.via(to: asked.uri),
            configuration: configuration, spelling: asked.spelling, forwarded: asked.forwardedElement
        ).write(client, to: &head)
        if configuration.mayTransform { Load.removeConditions(from: &head.fields) }
        // All of the content has been received.
        if lookup.keyed != nil { head.fields.remove(.expect) }
        if let variant, head.method == .get {
            let ifRange = head.fields.contains(.range) ? head.fields[.ifRange] : nil
            Validation.makeConditional(&head.fields, for: variant.stored)
            // If the representation has changed, the client may not want a part of it.
            head.fields[.ifRange] = ifRange
        }
        asked.forwarded = copy head
        self.init(
            lookup.context, lookup.service, lookup.resource, asked.uri, configuration,
            version: lookup.version, clientHead: consume client, request: consume head, content: lookup.keyed?.content,
            validating: variant,
            // Parts of the origin's content are not parts of the pipeline's output.
            completing: configuration.mayTransform ? nil : parts, isBackground: isBackground,
            isJoinable: lookup.isJoinable, from: asked.network)
        if lookup.keyed == nil, lookup.shared?.isSilent != true {
            sharing = isJoinable && parts == nil ? .asks : .gives
        }
        keepsStored = lookup.isUnread
        sharedLook = lookup.shared?.look
        clientDigest = asked.clientDigest
        isSharedLost = lookup.shared?.isLost ?? false
        bypassesBackoff =
            !isBackground && asked.traits.has(.cacheControl)
            && CacheControl.Request(asked.head.fields).bypassesBackoff
    }
}
