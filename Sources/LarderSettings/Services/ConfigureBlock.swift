// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP

/// One entry of a service's `configure` list: the resources it applies to, and their settings.
///
/// Each property of `Configuration` is an optional property of the block. A property that the block does not set keeps
/// the value of earlier blocks.
@dynamicMemberLookup
package struct ConfigureBlock: Sendable {
    package var pattern = BlockPattern()
    /// nil means every method.
    package var methods: [Method]?
    /// The block's name in logs and explanations; nil means its pattern.
    package var description: String?
    package var headers: [HeaderEdit] = []
    package var expirationTime: Expiration?
    /// true makes `expirationTime` override the origin's lifetime, false makes it a fallback.
    package var override: Bool?
    package var pipeline: PipelineSettings?
    package var decorate = DecoratorSettings()
    /// The program and the webhook that Larder notifies when content changes.
    package var onChange: Revocable<ChangeSettings>?
    private var assignments: [Assignment] = []

    /// A value for a property of the configuration.
    private struct Assignment: Sendable {
        let path: any AnyKeyPath & Sendable
        let value: any Sendable
        let assign: @Sendable (inout Configuration) -> Void
    }

    package init() {}

    /// The block's value for a property of the configuration; nil if the block does not set it.
    package subscript<Value: Sendable>(
        dynamicMember path: any WritableKeyPath<Configuration, Value> & Sendable
    ) -> Value? {
        get { assignments.first { $0.path == path }?.value as? Value }
        set {
            assignments.removeAll { $0.path == path }
            guard let newValue else { return }
            assignments.append(Assignment(path: path, value: newValue) { $0[keyPath: path] = newValue })
        }
    }

    /// How `expirationTime` relates to the origin's lifetime, if the block says it.
    package var expirationMode: Configuration.ExpirationMode? {
        expirationTime?.mode ?? override.map { $0 ? .override : .fallback }
    }

    /// The name of the block for people.
    package var title: String { description ?? pattern.patternDescription }

    /// Overrides the settings of earlier blocks with the settings of this block, except `decorate`.
    package func apply(to configuration: inout Configuration, _ variables: VariableValues = VariableValues()) {
        for edit in headers { configuration.fields[edit.name] = edit.value?.reveal(variables) }
        for assignment in assignments { assignment.assign(&configuration) }
        if let expirationTime {
            if let time = expirationTime.time {
                configuration.expirationTime = time
                if configuration.expirationMode == .heuristic { configuration.expirationMode = .fallback }
            }
            configuration.expirationTimes.merge(expirationTime.byStatus) { $1 }
        }
        if let expirationMode { configuration.expirationMode = expirationMode }
        if let onChange { configuration.changeRule = onChange.value?.rule }
        // A transformer gets the size limit that the configuration has when it is added.
        pipeline?.apply(to: &configuration)
        if pipeline != nil, let methods { configuration.transformedMethods.formUnion(methods) }
    }
}

/// A lifetime, and how it relates to the origin's.
package struct Expiration: Sendable, Equatable {
    /// nil where only statuses have lifetimes.
    package var time: Duration?
    package var mode: Configuration.ExpirationMode?
    /// Lifetimes of responses with these statuses.
    package var byStatus: [Status: Duration]

    package init(time: Duration?, mode: Configuration.ExpirationMode? = nil, byStatus: [Status: Duration] = [:]) {
        self.time = time
        self.mode = mode
        self.byStatus = byStatus
    }
}

/// One field of `headers`: set on requests to the origin, or removed from them.
package struct HeaderEdit: Sendable, Equatable {
    package var name: FieldName
    /// nil removes the field.
    package var value: Secret?

    package init(name: FieldName, value: Secret?) {
        self.name = name
        self.value = value
    }
}

extension Configuration {
    /// The lifetime with its relation to the origin's, as `larder explain` words it.
    package var lifetimeWords: String {
        let time = UnitText.write(expirationTime)
        let statuses = expirationTimes.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { ", \($0.key.rawValue): \(UnitText.write($0.value))" }.joined()
        let all =
            switch expirationMode {
            case .heuristic: "as RFC 9111 says"
            case .fallback: "\(time) where the origin names none"
            case .cap: "\(time) at most"
            case .floor: "\(time) at least"
            case .override: "\(time) whatever the origin says"
            }
        return all + statuses
    }
}
