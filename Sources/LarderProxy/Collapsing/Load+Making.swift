// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Load {
    /// The load for an operator's request.
    convenience init(
        _ subject: ResourceSubject, resource: Resource, head: RequestHead, configuration: EffectiveConfiguration,
        version: UInt64, validating variant: Variant?, completing parts: Variant?, context: LoopContext,
        network: ClientNetwork
    ) {
        var head = head
        if let variant, let accepted = variant.stored.acceptEncodingSentFor {
            // Other codings have other validators.
            head.fields[.acceptEncoding] = accepted.value.map { String(decoding: $0, as: UTF8.self) }
        }
        var request = ForwardedRequest(
            uri: subject.uri, form: subject.form, via: context.via(to: subject.uri),
            configuration: configuration,
            spelling: subject.spelling
        ).head(for: head)
        if configuration.mayTransform { Load.removeConditions(from: &request.fields) }
        if let variant { Validation.makeConditional(&request.fields, for: variant.stored) }
        self.init(
            context, subject.service, resource, subject.uri, configuration, version: version, clientHead: head,
            request: request,
            content: nil, validating: variant, completing: configuration.mayTransform ? nil : parts,
            isBackground: false,
            isJoinable: RequestTraits(of: head).mayJoin(configuration),
            from: network)
    }

    /// Removes the client's conditions and ranges, which may not be about the origin's bytes: they are evaluated
    /// against the response it gets.
    static func removeConditions(from fields: inout Fields) {
        for name: FieldName in [.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange] {
            fields.remove(name)
        }
    }
}

extension StoredResponse {
    /// The `Accept-Encoding` that this response was requested with; nil if the response does not vary by it.
    var acceptEncodingSentFor: Variance.Selector? {
        guard variance.spansCodings else { return nil }
        return variance.selectors.first { $0.name == .acceptEncoding }
    }
}
