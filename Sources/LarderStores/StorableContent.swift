// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Larder

/// Content that can be stored as bytes.
///
/// `Codable` types only need to declare conformance; they are stored as JSON.
public protocol StorableContent: Sendable {
    /// The content as bytes.
    func storedOctets() throws -> [UInt8]

    /// Restores the content from the output of `storedOctets`; throws when the bytes are something else.
    init(storedOctets: [UInt8]) throws
}

extension StorableContent where Self: Codable {
    /// The content as JSON.
    public func storedOctets() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    /// The content that the JSON describes.
    public init(storedOctets: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(storedOctets))
    }
}

extension Array: StorableContent where Element == UInt8 {
    /// The bytes themselves.
    public func storedOctets() -> [UInt8] { self }

    /// The bytes themselves.
    public init(storedOctets: [UInt8]) { self = storedOctets }
}

extension String: StorableContent {
    /// The text in UTF-8.
    public func storedOctets() -> [UInt8] { Array(utf8) }

    /// The text; throws when the bytes are not UTF-8.
    public init(storedOctets: [UInt8]) throws {
        guard let text = String(validating: storedOctets, as: UTF8.self) else { throw StoredOctetsError() }
        self = text
    }
}

extension JSONValue: StorableContent {
    /// The value as JSON.
    public func storedOctets() -> [UInt8] { octets }

    /// The value that the JSON describes.
    public init(storedOctets: [UInt8]) throws { try self.init(parsing: storedOctets) }
}

/// Stored bytes could not be converted to content.
struct StoredOctetsError: Error, CustomStringConvertible {
    var description: String { "what is stored is not content of this type; it was written by something else" }
}
