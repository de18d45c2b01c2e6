// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

/// JSON of a program's own values.
extension JSONValue {
    /// Makes an object of values that are JSON or `Encodable`, its members sorted by name; nil where one is neither, or
    /// is a number that JSON does not have.
    public init?(_ object: [String: Any]) { self.init(value: object, levels: JSONValue.depthLimit) }

    /// Makes an array of such values.
    public init?(_ array: [Any]) { self.init(value: array, levels: JSONValue.depthLimit) }

    /// The content of an entity as JSON; nil for text, for bytes, and for what is neither JSON nor `Encodable`.
    init?(content: Any) {
        // An empty array of any type can be cast to one of bytes.
        if content is String || type(of: content) == [UInt8].self || content is Data { return nil }
        self.init(value: content, levels: JSONValue.depthLimit)
    }

    private init?(value: Any, levels: Int) {
        switch value {
        case let json as JSONValue: self = json
        case let object as JSONObject: self = .object(object)
        case let elements as [JSONValue]: self = .array(elements)
        case let bool as Bool: self = .bool(bool)
        case let string as String: self = .string(string)
        case let integer as any BinaryInteger: self = .number(JSONNumber(text: "\(integer)"))
        case let double as Double:
            guard let number = JSONNumber(double) else { return nil }
            self = .number(number)
        case let optional as any OptionalValue:
            guard let wrapped = optional.wrapped else {
                self = .null
                return
            }
            self.init(value: wrapped, levels: levels)
        case let members as [String: Any]:
            var object = JSONObject()
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                guard levels > 0, let json = JSONValue(value: member, levels: levels - 1) else { return nil }
                object[name] = json
            }
            self = .object(object)
        case let elements as [Any]:
            var array: [JSONValue] = []
            for element in elements {
                guard levels > 0, let json = JSONValue(value: element, levels: levels - 1) else { return nil }
                array.append(json)
            }
            self = .array(array)
        case let encodable as any Encodable:
            guard let data = try? JSONEncoder.ofLarder.encode(encodable),
                let json = try? JSONValue(parsing: Array(data))
            else { return nil }
            self = json
        default: return nil
        }
    }
}

/// An optional of any type.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}

extension JSONEncoder {
    /// Members sorted by name and slashes unescaped, so that equal values are written equally.
    public static var ofLarder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
