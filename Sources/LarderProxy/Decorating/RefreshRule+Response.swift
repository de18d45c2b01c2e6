// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderSettings
import LarderTransformers

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
            guard let text = document.text(at: target.pointer) else { return .failure(.missing(target.pointer.text)) }
            guard VariableSettings.isUsable(text) else { return .failure(.unusable(target.pointer.text)) }
            values.append((target.variable, Secret(text)))
        }
        return .success(values)
    }
}

/// Why there is no new credential. Never contains a secret.
enum RefreshFailure: Error, Equatable, CustomStringConvertible {
    case refused(Status)
    case tooLarge
    case tooSlow
    case notJSON
    case missing(String)
    case unusable(String)
    case unresolvable

    var description: String {
        switch self {
        case .refused(let status): "the answer was \(status.rawValue)"
        case .tooLarge: "the answer is larger than 1 MiB"
        case .tooSlow: "the answer was not there after \(TokenRefresher.timeLimit)"
        case .notJSON: "the answer is not JSON"
        case .missing(let pointer): "the answer has no text or number at \(pointer)"
        case .unusable(let pointer): "what the answer has at \(pointer) cannot stand in a field"
        case .unresolvable: "its URL cannot be used"
        }
    }
}

extension JSONValue {
    /// The text or the number at a place.
    fileprivate func text(at pointer: JSONPointer) -> String? {
        switch pointer.value(in: self) {
        case .string(let text): text
        case .number(let number): JSONValue.number(number).description
        default: nil
        }
    }
}
