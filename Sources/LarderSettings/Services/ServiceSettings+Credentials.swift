// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

extension ServiceSettings {
    /// The credentials of the service's own, in an unambiguous form: fields with a credential's name or with variables,
    /// and its certificate. Empty if it has none.
    ///
    /// A variable that `refreshToken` renews counts by its name: the new value is the same user's.
    package func credentials(_ values: VariableValues) -> [UInt8] {
        let renewed = Set(configure.flatMap { $0.decorate.refresh?.value?.variables ?? [] })
        var octets: [UInt8] = []
        func tell(_ name: String, _ text: String) { octets += VariableValues.octets(of: name, text) }
        for edit in configure.flatMap(\.headers) {
            guard let value = edit.value, SecretName.isOne(field: edit.name) || !value.variables.isEmpty else {
                continue
            }
            tell(edit.name.canonical, value.reveal(values, naming: renewed))
        }
        for rule in configure.compactMap({ $0.decorate.refresh?.value }) {
            for parameter in rule.json + rule.form {
                tell(parameter.name, parameter.value.reveal(values, naming: renewed))
            }
            for edit in rule.headers { tell(edit.name.canonical, edit.value?.reveal(values, naming: renewed) ?? "") }
        }
        if let certificate = tls.certificate { tell("certificate", certificate) }
        return octets
    }
}
