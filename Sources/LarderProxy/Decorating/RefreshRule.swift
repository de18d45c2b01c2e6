// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP

/// How a credential that origins refuse is replaced.
package struct RefreshRule: Sendable, Equatable {
    /// The statuses by which an origin refuses a credential.
    package var onStatus: [Status] = [401]
    /// Where a new one is requested: a path below the base URL, or an absolute URL.
    package var url = RefreshURL.placeholder
    package var method = Method.post
    package var headers: [HeaderEdit] = []
    /// Members of a JSON object.
    package var json: [RefreshParameter] = []
    /// Parameters of a form.
    package var form: [RefreshParameter] = []
    /// The variables that get new values, and where the response contains them.
    package var store: [RefreshTarget] = []

    package init() {}

    /// Identifies a refresh within its service.
    var name: String { store.map(\.variable).joined(separator: " ") + " from " + url.text }

    var variables: [String] { store.map(\.variable) }
}

/// A path below a base URL, or an absolute URL.
package struct RefreshURL: Sendable, Equatable {
    package let text: String
    /// nil for a path.
    private let absolute: TargetURI?

    // Holds: the path is valid.
    static let placeholder = RefreshURL("/")!

    package init?(_ text: String) {
        self.text = text
        if text.hasPrefix("/"), !text.hasPrefix("//") {
            guard (try? TargetURI("http://h" + text)) != nil else { return nil }
            absolute = nil
        } else {
            guard let uri = try? TargetURI(text) else { return nil }
            absolute = uri
        }
    }

    package func resolved(below base: TargetURI) -> TargetURI? {
        if let absolute { return absolute }
        var uri = TargetURI()
        let octets = Array(text.utf8)
        do throws(URIError) {
            try octets.withUnsafeBufferPointer { bytes throws(URIError) in
                try uri.set(base: base, pathAndQuery: UnsafeRawBufferPointer(bytes))
            }
            return uri
        } catch {
            return nil
        }
    }
}

/// A name and a value to send.
package struct RefreshParameter: Sendable, Equatable {
    package var name: String
    package var value: Secret
    /// A JSON value without quotes: a number, `true`, `false`.
    package var isLiteral = false

    package init(name: String, value: Secret, isLiteral: Bool = false) {
        self.name = name
        self.value = value
        self.isLiteral = isLiteral
    }
}

/// A variable, and the location of its value in a response (RFC 6901).
package struct RefreshTarget: Sendable, Equatable {
    package var variable: String
    package var pointer: String

    package init(variable: String, pointer: String) {
        self.variable = variable
        self.pointer = pointer
    }
}

extension RefreshRule {
    /// The content of the request, and its type; nil when there is none.
    func content(_ values: VariableValues) -> (octets: [UInt8], type: String)? {
        if !json.isEmpty {
            let members = json.map { parameter in
                let text = parameter.value.reveal(values) ?? ""
                return "\(JSONText.string(parameter.name)):\(parameter.isLiteral ? text : JSONText.string(text))"
            }
            return (Array("{\(members.joined(separator: ","))}".utf8), "application/json")
        }
        guard !form.isEmpty else { return nil }
        let pairs = form.map { "\(PercentText.encoded($0.name))=\(PercentText.encoded($0.value.reveal(values) ?? ""))" }
        return (Array(pairs.joined(separator: "&").utf8), "application/x-www-form-urlencoded")
    }

    /// The new values in a response, or what is missing.
    func values(in content: [UInt8]) -> Result<[(name: String, value: Secret)], RefreshFailure> {
        guard let document = try? JSONValue(parsing: content) else { return .failure(.notJSON) }
        var values: [(name: String, value: Secret)] = []
        for target in store {
            guard let text = document.text(at: target.pointer) else { return .failure(.missing(target.pointer)) }
            guard VariableSettings.isUsable(text) else { return .failure(.unusable(target.pointer)) }
            values.append((target.variable, Secret(text)))
        }
        return .success(values)
    }
}

/// Why there is no new credential. Never contains a secret.
enum RefreshFailure: Error, Equatable, CustomStringConvertible {
    case refused(Status)
    case tooLarge
    case notJSON
    case missing(String)
    case unusable(String)
    case unresolvable

    var description: String {
        switch self {
        case .refused(let status): "the answer was \(status.rawValue)"
        case .tooLarge: "the answer is larger than 1 MiB"
        case .notJSON: "the answer is not JSON"
        case .missing(let pointer): "the answer has no text or number at \(pointer)"
        case .unusable(let pointer): "what the answer has at \(pointer) cannot stand in a field"
        case .unresolvable: "its URL cannot be used"
        }
    }
}

extension JSONValue {
    /// The text or the number at a JSON pointer (RFC 6901).
    func text(at pointer: String) -> String? {
        var value = self
        for part in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let name = String(part.replacing("~1", with: "/").replacing("~0", with: "~"))
            if let member = value[name] {
                value = member
            } else if let index = Int(name), index >= 0, let element = value[index] {
                value = element
            } else {
                return nil
            }
        }
        switch value {
        case .string(let text): return text
        case .number: return value.description
        default: return nil
        }
    }
}
