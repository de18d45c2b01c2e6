// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderUpstream

extension ServiceSettings {
    /// The state that the service's stored responses go with, in an unambiguous form: once it is another, they are another
    /// user's. Nil where they go with nothing.
    ///
    /// These are the credentials of the service's own, unless its responses are for everyone: fields with a credential's
    /// name or with values from elsewhere and what they are for, its certificate, and its user at a proxy of its own; and
    /// the variables with `wipeAll`. A new value that a `refreshToken` got is the same user's, whichever service has it:
    /// there it counts what the value was got with.
    ///
    /// - Parameters:
    ///   - certificate: identifies that with which the service proves who it is.
    ///   - programmed: those that the service's program sets.
    ///   - saysPrivacyByURL: whether the service's program says of some URLs that they are not for everyone.
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

    /// True if the service sends credentials of its own for responses that are not for everyone.
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
                // Values from elsewhere may be secret, whatever the field's name is.
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
