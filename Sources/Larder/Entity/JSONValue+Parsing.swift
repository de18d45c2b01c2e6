// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

extension JSONValue {
    /// The maximum depth of arrays and objects.
    public static let depthLimit = 512

    /// Parses UTF-8 text that is one JSON value and nothing else. A byte order mark is skipped (RFC 8259 §8.1).
    public init(parsing octets: [UInt8]) throws(JSONSyntaxError) { try self.init(parsing: octets, valueLimit: .max) }

    /// - Parameter valueLimit: how many values there may be, with those inside of others. The smallest ones take a
    ///   hundred times the memory that their text does.
    package init(parsing octets: [UInt8], valueLimit: Int) throws(JSONSyntaxError) {
        var scanner = JSONScanner(octets, depthLimit: JSONValue.depthLimit, valueLimit: valueLimit)
        scanner.skipMark()
        self = try JSONValue(next: &scanner)
        try scanner.end()
    }

    /// Parses text that is one JSON value and nothing else.
    public init(parsing text: String) throws(JSONSyntaxError) { try self.init(parsing: Array(text.utf8)) }

    private init(next scanner: inout JSONScanner) throws(JSONSyntaxError) {
        switch try scanner.start() {
        case .object:
            var object = JSONObject()
            try scanner.object { scanner, name throws(JSONSyntaxError) in
                object[name] = try JSONValue(next: &scanner)
            }
            self = .object(object)
        case .array:
            var elements: [JSONValue] = []
            try scanner.array { scanner throws(JSONSyntaxError) in elements.append(try JSONValue(next: &scanner)) }
            self = .array(elements)
        case .string: self = .string(try scanner.string())
        case .number:
            let range = try scanner.number()
            self = .number(JSONNumber(text: String(decoding: scanner.text[range], as: UTF8.self)))
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .null: self = .null
        }
    }
}
