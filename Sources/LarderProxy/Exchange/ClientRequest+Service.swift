// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// The request as one of a service.
extension ClientRequest {
    /// The configured answer to every such request; HEAD has its own.
    func hardWiredAnswer(of service: RoutedService, _ configuration: EffectiveConfiguration) -> HardWiredAnswer? {
        let own = traits.method == .head ? service.configuration(for: uri, method: .head) : configuration
        return context.configuration.router.table.hardWiredAnswer(to: uri, method: head.method, of: service, own)
    }

    /// The state of its origin.
    func outlook(_ service: RoutedService, _ configuration: EffectiveConfiguration) -> LiveOutlook {
        var outlook = LiveOutlook(
            proxy: context.proxy, proxyConfiguration: context.configuration, service: service,
            configuration: configuration, uri: uri, form: form, spelling: spelling, head: head, network: network)
        outlook.isOffline = isLaneOffline
        outlook.client = clientDigest
        outlook.lacksContent = lacksContent
        return outlook
    }

    // MARK: The gateway

    /// `fields` of a response as the client must see them.
    func mapped(_ fields: Fields, by service: RoutedService) -> Fields {
        guard form.isGateway, GatewayMapping.concerns(fields) else { return fields }
        return gatewayMapping(service, isForBrowser: traits.has(.browser)).mapped(fields)
    }

    /// A reference to a URL of the service as the client must see it.
    func mapped(reference: String, by service: RoutedService) -> String {
        guard form.isGateway else { return reference }
        return gatewayMapping(service, isForBrowser: false).mapped(reference: reference) ?? reference
    }

    private func gatewayMapping(_ service: RoutedService, isForBrowser: Bool) -> GatewayMapping {
        GatewayMapping(
            table: context.configuration.router.table, service: service, form: form, target: uri,
            authority: gatewayAuthority, isSecure: stream.isSecure, isForBrowser: isForBrowser)
    }

    /// The authority of Larder as the client names it.
    var gatewayAuthority: String { head.fields[first: .host] ?? connection.client.localHost }
}

/// The content codings that the client accepts.
extension ClientRequest {
    /// True if the client can get content in its stored coding: the client accepts that, or the origin sent it in
    /// response to a request like this one.
    func accepts(_ coding: ServedCoding, _ stored: StoredResponse) -> Bool {
        AcceptedCodings(head.fields).weight(of: coding) > 0
            || stored.variance.spanningCodings(false).matches(head.fields)
    }

    /// True if this client accepts the coding of a load's response, or no other coding is available.
    func accepts(_ response: ResponseHead, _ stored: StoredResponse?, of load: ActiveLoad) -> Bool {
        guard let coding = ServedCoding(of: response.fields) else { return true }
        if AcceptedCodings(head.fields).weight(of: coding) > 0 { return true }
        // An origin may ignore `Accept-Encoding`: an equal request does not show that the client accepts the coding.
        if let stored { return !stored.variance.spansCodings }
        // A validation is sent with the `Accept-Encoding` of the first request.
        return load.request.fields[.acceptEncoding] == head.fields[.acceptEncoding]
    }

    /// Adds the fields that the stored form of a relayed response will have.
    func noteForms(in fields: inout Fields, of response: ResponseHead, _ policy: CachePolicy) {
        guard !policy.codings.isEmpty else { return }
        if response.status == 304 { CodedTag.translate(&fields, askedWith: head.fields) }
        let stored = StoredResponse(
            status: response.status, fields: response.fields, requestTime: context.now(), responseTime: context.now(),
            policy: policy)
        if stored.recoding != nil { CodedForms.noteForms(in: &fields) }
    }
}
