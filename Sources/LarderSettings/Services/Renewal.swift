// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// A refresh together with its service: both determine for the origin whose credential is renewed.
///
/// Other services may use the same variables, and change their user with them.
package struct Renewal: Sendable {
    fileprivate let rule: RefreshRule
    private let service: ServiceSettings
    private let certificate: String?

    /// - Parameter certificate: identifies that with which the service proves who it is.
    init(_ rule: RefreshRule, of service: ServiceSettings, certificate: String?) {
        self.rule = rule
        self.service = service
        self.certificate = certificate
    }

    /// The variables that identify the owner of the credential: the variables of the request, and of the service's
    /// other fields, which the request may contain.
    fileprivate var variables: Set<String> {
        rule.requestVariables.union(Set(service.variablesInFields).subtracting(rule.variables))
    }

    /// Identifies the owner of the credential and the place that renews it, in an unambiguous form.
    fileprivate func octets(_ values: VariableValues) -> [UInt8] {
        let base = service.baseURL.target
        let place = rule.url.resolved(below: base)?.string ?? rule.url.text
        var octets = VariableValues.octets(of: "renewed at", place) + service.ownCredentials(values, certificate)
        // Fields sent with the request may identify the user, under any name.
        let url = ResourceURL(place)
        for block in service.configure
        where block.methods?.contains(rule.method) != false && block.pattern.predicate(relativeTo: base)(url) {
            for edit in block.headers {
                octets += VariableValues.octets(of: edit.name.canonical, edit.value?.revealOrName(values) ?? "")
            }
        }
        return octets
    }
}

extension VariableValues {
    /// The same values, known to be renewed by these.
    package func renewed(by renewals: [Renewal]) -> VariableValues {
        let given = given
        return VariableValues(
            self,
            renewers: renewals.map {
                Renewer(renewed: $0.rule.variables, variables: $0.variables, octets: $0.octets(given))
            })
    }
}
