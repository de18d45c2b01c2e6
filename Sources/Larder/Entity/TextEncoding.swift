// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A way to write characters as octets, known by the names of its IANA charset.
public struct TextEncoding: Sendable, Hashable {
    /// The charset's name in lower case.
    public let name: String
    private let encoding: String.Encoding

    private init(name: String, encoding: String.Encoding) {
        self.name = name
        self.encoding = encoding
    }

    /// The encoding with that charset name, whatever its case, or nil when it is unknown.
    public init?(named name: String) {
        let name = name.lowercased()
        guard let encoding = TextEncoding.known[name] else { return nil }
        self.init(name: name, encoding: encoding)
    }

    public static let utf8 = TextEncoding(name: "utf-8", encoding: .utf8)
    public static let ascii = TextEncoding(name: "us-ascii", encoding: .ascii)
    public static let isoLatin1 = TextEncoding(name: "iso-8859-1", encoding: .isoLatin1)
    public static let utf16 = TextEncoding(name: "utf-16", encoding: .utf16)

    /// The octets of `text`, or nil when it has characters that cannot be written.
    public func encode(_ text: String) -> [UInt8]? {
        if encoding == .utf8 { return Array(text.utf8) }
        return text.data(using: encoding).map(Array.init)
    }

    /// The text that `octets` are, or nil when they are none.
    public func decode(_ octets: [UInt8]) -> String? {
        if encoding == .utf8 { return String(validating: octets, as: UTF8.self) }
        if encoding == .isoLatin1 { return String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) })) }
        if encoding == .ascii, octets.contains(where: { $0 >= 0x80 }) { return nil }
        return String(data: Data(octets), encoding: encoding)
    }

    private static let known: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "us-ascii": .ascii, "ascii": .ascii, "iso-8859-1": .isoLatin1, "latin1": .isoLatin1,
        "iso-8859-2": .isoLatin2, "latin2": .isoLatin2, "utf-16": .utf16, "utf-16be": .utf16BigEndian,
        "utf-16le": .utf16LittleEndian, "utf-32": .utf32, "utf-32be": .utf32BigEndian, "utf-32le": .utf32LittleEndian,
        "euc-jp": .japaneseEUC, "shift_jis": .shiftJIS, "iso-2022-jp": .iso2022JP, "windows-1250": .windowsCP1250,
        "windows-1251": .windowsCP1251, "windows-1252": .windowsCP1252, "windows-1253": .windowsCP1253,
        "windows-1254": .windowsCP1254, "macintosh": .macOSRoman,
    ]
}
