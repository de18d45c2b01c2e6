// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

extension CacheLookup {
    /// The period after an unstored response during which clients do not wait for each other's responses.
    private static let unsharedPeriod = Duration.seconds(120)

    /// Asks the upstream, collapsed with equal requests under way, and relays the response. False when the response
    /// does not match this request: to be decided anew.
    ///
    /// - Parameters:
    ///   - variant: the stored variant to validate.
    ///   - fallback: a variant that may be served if the upstream fails.
    ///   - parts: a variant with some of the requested bytes.
    mutating func fetch(
        reason: ForwardReason, validating variant: Variant?, fallback: Variant? = nil, completing parts: Variant? = nil
    ) async throws -> Bool {
        if let successor { return try await retrieve(from: successor) }
        let status = CacheStatus(.forward(reason))
        // Responses useful to this client alone are relayed without a load: HEAD has no content to share. Not where a
        // pipeline may change the content.
        if request.traits.method == .head || (asksAlone && !configuration.mayTransform) {
            do {
                try await Forwarding(
                    exchange, service, reason: reason, lookup: self, fallback: variant ?? fallback
                ).run()
            } catch let error as UpstreamError where !writer.hasResponded {
                return try await LoadedAnswer(lookup: self, status: status, fallback: variant ?? fallback)
                    .serve(insteadOf: error, status)
            }
            return true
        }
        let load = Load(for: self, validating: variant, completing: parts, isBackground: false)
        let (passedOver, isWary, fields) = (passedOver, isWary, snapshot?.selectingFields ?? [])
        let joining = resource.memory.join(
            since: load.isJoinable ? snapshot : nil,
            expectingSharedUnlessSince: context.now() - CacheLookup.unsharedPeriod,
            where: {
                load.mayJoin($0) && $0 !== passedOver
                    && (!isWary || TraceFields.areSame($0.request.fields, request.head.fields))
                    && $0.mayAnswer(request.head, by: fields, policy, at: context.now())
            }, orStart: { load.listed })
        let outcome: LoadedAnswer.Outcome
        switch joining {
        case .overtaken: outcome = .decidedAnew
        case .unshared: outcome = .askedAlone
        case .started:
            outcome = try await LoadedAnswer(lookup: self, status: status, fallback: variant ?? fallback).lead(load)
        case .joined(let load):
            outcome = try await LoadedAnswer(
                lookup: self, status: status.collapsed(true), fallback: variant ?? fallback
            ).follow(load)
        }
        switch outcome {
        case .answered: return true
        case .decidedAnew: return false
        case .askedAlone: asksAlone = true
        case .decidedWarily: self.isWary = true
        case .passedOver(let load): self.passedOver = load
        }
        return false
    }
}

extension Load {
    /// The load for a client's request.
    convenience init(
        for lookup: CacheLookup, validating variant: Variant?, completing parts: Variant? = nil, isBackground: Bool
    ) {
        let (configuration, asked) = (lookup.configuration, lookup.request)
        var client = asked.head
        if isBackground, variant?.stored.isPartial == false {
            // The whole representation is replaced, so the client's range is removed.
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
        maySettle = isJoinable && parts == nil
        states = lookup.states
        keepsStored = lookup.isUnread
        clientDigest = asked.clientDigest
        bypassesBackoff =
            !isBackground && asked.traits.has(.cacheControl)
            && CacheControl.Request(asked.head.fields).bypassesBackoff
    }
}
