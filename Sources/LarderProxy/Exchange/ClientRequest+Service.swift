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
