// SPDX-License-Identifier: Apache-2.0

extension ServiceSettings {
    /// The refreshes of its blocks.
    ///
    /// - Parameter certificate: identifies that with which the service proves who it is.
    package func renewals(certificate: String?) -> [Renewal] {
        configure.compactMap { $0.decorate.refresh?.value }.map { Renewal($0, of: self, certificate: certificate) }
    }

    /// The variables in request fields, in the order of their names.
    package var variablesInFields: [String] {
        Set(configure.flatMap(\.headers).flatMap { $0.value?.variables ?? [] }).sorted()
    }

    /// Those, and the ones in what decorators send.
    package var usedVariables: Set<String> {
        var names = Set(variablesInFields)
        for block in configure {
            if let rule = block.decorate.refresh?.value {
                names.formUnion(rule.usedVariables)
            }
            if let rule = block.decorate.respond?.value {
                let secrets = [rule.body] + rule.fields.compactMap(\.value)
                names.formUnion(secrets.flatMap(\.variables))
            }
        }
        return names
    }
}
