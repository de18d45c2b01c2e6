// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A way to write characters as bytes, known by the names of its IANA charset.
public struct TextEncoding: Sendable, Hashable {
    /// The charset's name in lower case.
    public let name: String
    /// The name in the C library.
    private let systemName: String

    private init(_ name: String, _ systemName: String) {
        self.name = name
        self.systemName = systemName
    }

    /// The encoding with that charset name, regardless of case; nil when the name is unknown.
    public init?(named name: String) {
        let name = name.lowercased()
        // Only listed names reach the C library, which loads code for any name it knows.
        guard let systemName = TextEncoding.known[name] else { return nil }
        self.init(name, systemName)
    }

    /// UTF-8.
    public static let utf8 = TextEncoding("utf-8", "UTF-8")
    /// ASCII.
    public static let ascii = TextEncoding("us-ascii", "ASCII")
    /// ISO-8859-1, whose 256 characters are the first of Unicode.
    public static let isoLatin1 = TextEncoding("iso-8859-1", "ISO-8859-1")
    /// UTF-16, written with a byte order mark.
    public static let utf16 = TextEncoding("utf-16", "UTF-16")

    /// The bytes of `text`, or nil when it has characters that cannot be written.
    public func encode(_ text: String) -> [UInt8]? {
        systemName == "UTF-8" ? Array(text.utf8) : TextEncoding.convert(Array(text.utf8), from: "UTF-8", to: systemName)
    }

    /// The text that the bytes encode, or nil when they are malformed.
    public func decode(_ octets: [UInt8]) -> String? {
        if systemName == "UTF-8" { return String(validating: octets, as: UTF8.self) }
        return TextEncoding.convert(octets, from: decodingName(for: octets), to: "UTF-8").flatMap {
            String(validating: $0, as: UTF8.self)
        }
    }

    /// Without a byte order mark, UTF-16 and UTF-32 are big-endian (RFC 2781 §4.3) on every machine.
    private func decodingName(for octets: [UInt8]) -> String {
        switch systemName {
        case "UTF-16" where !octets.starts(with: [0xFE, 0xFF]) && !octets.starts(with: [0xFF, 0xFE]): "UTF-16BE"
        case "UTF-32" where !octets.starts(with: [0, 0, 0xFE, 0xFF]) && !octets.starts(with: [0xFF, 0xFE, 0, 0]):
            "UTF-32BE"
        default: systemName
        }
    }

    private static func convert(_ input: [UInt8], from source: String, to target: String) -> [UInt8]? {
        guard let converter = iconv_open(target, source), converter != iconv_t(bitPattern: -1) else { return nil }
        defer { iconv_close(converter) }
        var input = input.map { CChar(bitPattern: $0) }
        var output: [UInt8] = []
        var chunk = [CChar](repeating: 0, count: 4_096)
        return input.withUnsafeMutableBufferPointer { source -> [UInt8]? in
            var next = source.baseAddress
            var left = source.count
            // Once more without input at the end, for encodings that have to return to their initial state.
            var isFlushing = false
            while true {
                let (result, written, code) = chunk.withUnsafeMutableBufferPointer { target in
                    var position = target.baseAddress
                    var room = target.count
                    let result =
                        isFlushing
                        ? iconv(converter, nil, nil, &position, &room)
                        : iconv(converter, &next, &left, &position, &room)
                    return (result, target.count - room, errno)
                }
                output.append(contentsOf: chunk[..<written].lazy.map { UInt8(bitPattern: $0) })
                // `iconv` returns (size_t)-1 when it fails.
                if result == Int(bitPattern: UInt.max) {
                    guard code == E2BIG else { return nil }
                } else if isFlushing {
                    return output
                } else {
                    isFlushing = true
                }
            }
        }
    }

    private static let known: [String: String] = {
        var names = [
            "utf-8": "UTF-8", "utf8": "UTF-8", "us-ascii": "ASCII", "ascii": "ASCII", "latin1": "ISO-8859-1",
            "latin2": "ISO-8859-2", "latin9": "ISO-8859-15", "utf-16": "UTF-16", "utf-16be": "UTF-16BE",
            "utf-16le": "UTF-16LE", "utf-32": "UTF-32", "utf-32be": "UTF-32BE", "utf-32le": "UTF-32LE",
            "euc-jp": "EUC-JP",
            "shift_jis": "SHIFT_JIS", "shift-jis": "SHIFT_JIS", "sjis": "SHIFT_JIS", "windows-31j": "CP932",
            "iso-2022-jp": "ISO-2022-JP", "euc-kr": "EUC-KR", "ks_c_5601-1987": "CP949", "gb2312": "GB2312",
            "gbk": "GBK",
            "gb18030": "GB18030", "big5": "BIG5", "big5-hkscs": "BIG5-HKSCS", "koi8-r": "KOI8-R", "koi8-u": "KOI8-U",
            "macintosh": "MACINTOSH", "tis-620": "TIS-620", "ibm866": "IBM866",
        ]
        for part in 1...16 where part != 12 { names["iso-8859-\(part)"] = "ISO-8859-\(part)" }
        for page in 1250...1258 { names["windows-\(page)"] = "CP\(page)" }
        return names
    }()
}
