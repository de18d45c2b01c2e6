// SPDX-License-Identifier: Apache-2.0

/// A JSON value (RFC 8259) that can be shared between threads.
///
/// Numbers keep their digits and objects the order of their members, so that parsing and writing preserves both.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// The members, if this is an object.
    public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
    /// The elements, if this is an array.
    public var array: [JSONValue]? { if case .array(let array) = self { array } else { nil } }
    /// The text, if this is a string.
    public var string: String? { if case .string(let string) = self { string } else { nil } }
    /// The truth value, if this is one.
    public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    /// The number, if an `Int` can represent it exactly.
    public var int: Int? { if case .number(let number) = self { Int(number.text) } else { nil } }
    /// The nearest `Double`, if this is a number.
    public var double: Double? { if case .number(let number) = self { Double(number.text) } else { nil } }

    /// The member of that name, if this is an object that has one.
    public subscript(name: String) -> JSONValue? { object?[name] }
    /// The element at that position, if this is an array that has one.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }

    /// The kind of this value, in JSON's words.
    public var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

/// A number as it was written.
public struct JSONNumber: Sendable, Hashable {
    /// The digits as written.
    public let text: String

    init(text: String) { self.text = text }

    /// Makes a number of an integer.
    public init(_ value: Int) { text = String(value) }

    /// nil for infinities and not-a-number, which JSON does not have.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }
}

/// The members of a JSON object in their order. The last of two with one name counts (RFC 8259 §4 leaves it open).
public struct JSONObject: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The names of the members, in order.
    public private(set) var names: [String] = []
    private var values: [String: JSONValue] = [:]

    /// Makes an object without members.
    public init() {}

    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// How many members there are.
    public var count: Int { names.count }
    /// True if there are no members.
    public var isEmpty: Bool { names.isEmpty }

    /// The member of that name; nil when there is none, or to remove it.
    public subscript(name: String) -> JSONValue? {
        get { values[name] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: name) == nil { names.append(name) }
            } else if values.removeValue(forKey: name) != nil {
                names.removeAll { $0 == name }
            }
        }
    }

    /// Objects are equal when they have equal members, in any order.
    public static func == (a: JSONObject, b: JSONObject) -> Bool { a.values == b.values }
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    /// A literal beyond the range of `Double` is null: JSON has no infinity.
    public init(floatLiteral value: Double) { self = JSONNumber(value).map { .number($0) } ?? .null }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}

extension JSONValue: CustomStringConvertible {
    public var description: String { String(decoding: octets, as: UTF8.self) }

    /// The value written in UTF-8, without blanks.
    public var octets: [UInt8] {
        var output: [UInt8] = []
        _ = write(to: &output, levels: .max)
        return output
    }

    /// The value in UTF-8; nil if arrays and objects are nested more deeply than `levels`.
    func octets(levels: Int) -> [UInt8]? {
        var output: [UInt8] = []
        return write(to: &output, levels: levels) ? output : nil
    }

    /// Returns false if the value is nested more deeply than `levels`.
    private func write(to output: inout [UInt8], levels: Int) -> Bool {
        switch self {
        case .null: output += "null".utf8
        case .bool(let value): output += (value ? "true" : "false").utf8
        case .number(let number): output += number.text.utf8
        case .string(let string): JSONValue.write(string, to: &output)
        case .array(let elements):
            guard levels > 0 else { return false }
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                guard element.write(to: &output, levels: levels - 1) else { return false }
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object):
            guard levels > 0 else { return false }
            output.append(UInt8(ascii: "{"))
            for (index, name) in object.names.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                JSONValue.write(name, to: &output)
                output.append(UInt8(ascii: ":"))
                guard object[name]?.write(to: &output, levels: levels - 1) != false else { return false }
            }
            output.append(UInt8(ascii: "}"))
        }
        return true
    }

    private static func write(_ string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        output.append(jsonEscaping: string.utf8)
        output.append(UInt8(ascii: "\""))
    }
}
