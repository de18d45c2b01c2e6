// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A refresh together with the service that has it: by both, the origin knows whose credential it renews.
///
/// Other services may use the variables as well, and change their user with it.
package struct Renewal: Sendable, Equatable {
    package let rule: RefreshRule
    private let service: ServiceSettings

    package init(_ rule: RefreshRule, of service: ServiceSettings) {
        self.rule = rule
        self.service = service
    }

    /// The variables that say whose credential it is: those of the request, and of the service's other fields, which may
    /// go with it.
    package var variables: Set<String> {
        rule.requestVariables.union(Set(service.variablesInFields).subtracting(rule.variables))
    }

    /// Identifies the owner of the credential and the place that renews it, in an unambiguous form.
    fileprivate func octets(_ values: VariableValues) -> [UInt8] {
        let place = rule.url.resolved(below: service.baseURL.target)?.string ?? rule.url.text
        return VariableValues.octets(of: "renewed at", place) + service.ownCredentials(values)
    }

    package static func == (a: Renewal, b: Renewal) -> Bool {
        a.rule == b.rule && a.octets(VariableValues()) == b.octets(VariableValues())
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
