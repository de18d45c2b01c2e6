// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderSettings

/// The credentials in the fields that a service's blocks set: fields named as credentials, and fields with variables.
struct HeaderCredentials: Sendable {
    private struct VariableField: Sendable {
        let name: FieldName
        /// The value as it is sent; nil while a variable has no value.
        let value: String?
    }

    private let variableFields: [VariableField]
    /// True if any block may send a credential: a redirect that is followed may lead to its URLs.
    private let areAny: Bool

    init(_ settings: ServiceSettings, _ values: VariableValues) {
        let edits = settings.configure.flatMap(\.headers)
        variableFields = edits.compactMap { edit in
            guard let value = edit.value, !value.variables.isEmpty else { return nil }
            // The value in the form that it has in a configuration.
            var fields = ConfiguredFields()
            fields[edit.name] = value.reveal(values)
            return VariableField(name: edit.name, value: fields[edit.name])
        }
        areAny =
            !variableFields.isEmpty || settings.declare != nil
            || edits.contains { $0.value != nil && SecretName.isOne(field: $0.name) }
            || settings.configure.contains { $0.decorate.refresh?.value != nil }
    }

    /// True if requests with this configuration may carry one. The fields of another block, at other URLs, do not count,
    /// unless redirects to those are followed: the response is stored for the URL that was asked for.
    func mayBeSent(by configuration: Configuration) -> Bool {
        if configuration.followRedirects, areAny { return true }
        let fields = configuration.fields
        return fields.set.names.contains(where: SecretName.isOne(field:))
            || variableFields.contains { field in
                // A variable may get its value while a request is under way.
                field.value.map { fields.set[field.name] == $0 } ?? fields.removed.contains(field.name)
            }
    }
}
