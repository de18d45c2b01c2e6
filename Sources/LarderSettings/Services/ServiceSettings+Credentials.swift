// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

extension ServiceSettings {
    /// The state that the service's stored responses depend on, in an unambiguous form: once it changes, they are
    /// another user's responses. Nil if they depend on no state.
    ///
    /// The state contains the service's own credentials, unless its responses are for everyone: fields with a
    /// credential's name or with values from elsewhere and their purposes, its certificate, and its user at a proxy of
    /// its own; and the variables with `wipeAll`. A new value from a `refreshToken` has the same user, in any service:
    /// the state contains the inputs of the refresh instead.
    ///
    /// - Parameters:
    ///   - certificate: identifies the certificate with which the service authenticates.
    ///   - programmed: the credentials that the service's program sets.
    ///   - saysPrivacyByURL: true if the service's program says of some URLs that they are not for everyone.
    package func credentials(
        _ values: VariableValues, certificate: String? = nil, programmed: [UInt8] = [],
        saysPrivacyByURL: Bool = false
    ) -> [UInt8]? {
        // The variables' values are part of each identity where users are apart.
        let given = privacy == .partitioned ? VariableValues() : values.given
        var octets: [UInt8] = []
        if !isForEveryone(saysPrivacyByURL) {
            octets = ownCredentials(given, certificate) + programmed + given.renewers(of: usedVariables)
        }
        for name in usedVariables.sorted() where values.isWiping(name) {
            octets += VariableValues.octets(of: name, values[name] ?? "")
        }
        // To become one user's, or everybody's, is a change as well.
        if privacy == .private { octets += VariableValues.octets(of: "privacy", privacy.rawValue) }
        return octets.isEmpty ? nil : octets
    }

    /// True if the service sends its own credentials for responses that are not for everyone.
    package func hasCredentials(certificate: String? = nil, saysPrivacyByURL: Bool = false) -> Bool {
        !isForEveryone(saysPrivacyByURL) && !ownCredentials(VariableValues(), certificate).isEmpty
    }

    private func isForEveryone(_ saysPrivacyByURL: Bool) -> Bool { privacy == .shared && !saysPrivacyByURL }

    func ownCredentials(_ values: VariableValues, _ certificate: String? = nil) -> [UInt8] {
        var octets: [UInt8] = []
        func tell(_ name: String, _ text: String) { octets += VariableValues.octets(of: name, text) }
        func tell(_ name: String, _ secret: Secret?) { tell(name, secret?.revealOrName(values) ?? "") }
        for block in configure {
            let before = octets.count
            for edit in block.headers {
                // Values from elsewhere may be secret under any field name.
                guard SecretName.isOne(field: edit.name) || edit.value?.reference != nil else { continue }
                tell(edit.name.canonical, edit.value)
            }
            if let rule = block.decorate.refresh?.value {
                tell("\(rule.method)", rule.url.text)
                for parameter in rule.json + rule.form { tell(parameter.name, parameter.value) }
                for edit in rule.headers { tell(edit.name.canonical, edit.value) }
                for target in rule.store { tell(target.variable, "\(target.pointer)") }
            }
            if octets.count > before { tell("for", block.scope) }
        }
        if let certificate { tell("certificate", certificate) }
        if case .proxy(let address) = parent, let user = address.authorization { tell("parent", user) }
        return octets
    }
}

extension ConfigureBlock {
    /// The requests it is for, as text.
    fileprivate var scope: String {
        let places: [String?] = [
            pattern.match?.text, pattern.regex?.patternDescription, pattern.url?.string, pattern.except?.text,
            pattern.scheme?.rawValue, pattern.host.map { "\($0)" },
        ]
        let methods = methods?.map(\.token).sorted().joined(separator: " ")
        return (places + [methods]).map { $0 ?? "" }.joined(separator: "\n") + "\n\(pattern.query)"
    }
}
