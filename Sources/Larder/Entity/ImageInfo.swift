// SPDX-License-Identifier: Apache-2.0

/// An image as far as caches and clients care: its format and size, and its bytes as they came.
public struct ImageInfo: Sendable, Hashable, WireEncodable {
    /// The formats that are known.
    public enum Format: String, Sendable, Hashable {
        /// Portable Network Graphics.
        case png
        /// Graphics Interchange Format.
        case gif
        /// JPEG, in any of its codings.
        case jpeg
        /// WebP: lossy, lossless or extended.
        case webp
        /// Windows bitmap.
        case bmp
    }

    /// The format.
    public let format: Format
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    /// The image as it came.
    public let octets: [UInt8]

    /// Reads the head of an image; nil when the bytes are not an image of a known format.
    public init?(_ octets: [UInt8]) {
        guard
            let found = ImageInfo.png(octets) ?? ImageInfo.gif(octets) ?? ImageInfo.jpeg(octets)
                ?? ImageInfo.webp(octets) ?? ImageInfo.bmp(octets), found.width > 0, found.height > 0
        else { return nil }
        (format, width, height) = found
        self.octets = octets
    }

    public func wireContent() -> WireContent { WireContent(octets: octets, contentType: "image/\(format.rawValue)") }

    private typealias Found = (format: Format, width: Int, height: Int)

    private static func png(_ o: [UInt8]) -> Found? {
        guard o.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), has(o, "IHDR", at: 12), o.count >= 24
        else { return nil }
        return (.png, big(o, 16, 4), big(o, 20, 4))
    }

    private static func gif(_ o: [UInt8]) -> Found? {
        guard has(o, "GIF87a", at: 0) || has(o, "GIF89a", at: 0), o.count >= 10 else { return nil }
        return (.gif, little(o, 6, 2), little(o, 8, 2))
    }

    private static func bmp(_ o: [UInt8]) -> Found? {
        guard has(o, "BM", at: 0), o.count >= 26 else { return nil }
        return (.bmp, little(o, 18, 4), Int(abs(Int(Int32(truncatingIfNeeded: little(o, 22, 4))))))
    }

    /// Walks the segments to the frame header (ITU T.81 §B.2.2).
    private static func jpeg(_ o: [UInt8]) -> Found? {
        guard o.starts(with: [0xFF, 0xD8]) else { return nil }
        var index = 2
        while index + 9 < o.count, o[index] == 0xFF {
            let marker = o[index + 1]
            if marker == 0xFF {
                index += 1
            } else if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                return (.jpeg, big(o, index + 7, 2), big(o, index + 5, 2))
            } else {
                let length = big(o, index + 2, 2)
                guard length >= 2 else { return nil }
                index += 2 + length
            }
        }
        return nil
    }

    private static func webp(_ o: [UInt8]) -> Found? {
        guard has(o, "RIFF", at: 0), has(o, "WEBP", at: 8), o.count >= 30 else { return nil }
        if has(o, "VP8X", at: 12) { return (.webp, little(o, 24, 3) + 1, little(o, 27, 3) + 1) }
        if has(o, "VP8L", at: 12) {
            let bits = little(o, 21, 4)
            return (.webp, bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        guard has(o, "VP8 ", at: 12) else { return nil }
        return (.webp, little(o, 26, 2) & 0x3FFF, little(o, 28, 2) & 0x3FFF)
    }

    private static func has(_ octets: [UInt8], _ text: StaticString, at offset: Int) -> Bool {
        guard octets.count >= offset + text.utf8CodeUnitCount else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { octets[offset + $0] == text.utf8Start[$0] }
    }

    private static func big(_ octets: [UInt8], _ offset: Int, _ count: Int) -> Int {
        octets[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
    }

    private static func little(_ octets: [UInt8], _ offset: Int, _ count: Int) -> Int {
        octets[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
