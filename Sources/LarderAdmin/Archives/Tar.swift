// SPDX-License-Identifier: Apache-2.0

/// Files one after another, as `tar` reads and writes them (POSIX.1, ustar).
package enum Tar {
    static let block = 512

    /// The head of a file, which its bytes and `padding` follow.
    static func head(_ name: String, size: Int64, modified: Int64) -> [UInt8] {
        var head = [UInt8](repeating: 0, count: block)
        func put(_ octets: some Sequence<UInt8>, at start: Int) {
            for (index, octet) in octets.enumerated() { head[start + index] = octet }
        }
        func put(octal value: Int64, digits: Int, at start: Int) {
            let text = String(value, radix: 8)
            put((String(repeating: "0", count: max(0, digits - text.count)) + text).utf8, at: start)
        }
        put(name.utf8.prefix(100), at: 0)
        put(octal: 0o644, digits: 7, at: 100)
        put(octal: 0, digits: 7, at: 108)
        put(octal: 0, digits: 7, at: 116)
        if size < 1 << 33 {
            put(octal: size, digits: 11, at: 124)
        } else {
            // Binary, as GNU and others write what octal has no room for.
            head[124] = 0x80
            for index in 0..<8 { head[128 + index] = UInt8(truncatingIfNeeded: size >> Int64(56 - index * 8)) }
        }
        put(octal: max(0, modified), digits: 11, at: 136)
        put("        ".utf8, at: 148)
        put("0ustar".utf8, at: 156)
        put("00".utf8, at: 263)
        put(octal: Int64(sum(of: head)), digits: 6, at: 148)
        head[154] = 0
        return head
    }

    /// How many zeros follow the bytes of a file.
    static func padding(after size: Int64) -> Int { Int((Int64(block) - size % Int64(block)) % Int64(block)) }

    /// A whole file.
    static func file(_ name: String, _ octets: [UInt8], modified: Int64) -> [UInt8] {
        head(name, size: Int64(octets.count), modified: modified) + octets
            + [UInt8](repeating: 0, count: padding(after: Int64(octets.count)))
    }

    /// The two empty blocks after the last file.
    static let end = [UInt8](repeating: 0, count: 2 * block)

    static func sum(of head: some Sequence<UInt8>) -> Int {
        head.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 0x20 : Int($1.element)) }
    }
}

/// Takes an archive apart as its bytes come.
package struct TarReader {
    package enum Event: Equatable, Sendable {
        case file(name: String, size: Int64)
        case octets([UInt8])
        case endOfFile
        case end
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private enum Phase {
        case head
        /// Within the content of a file, which is reported to the caller or skipped.
        case content(left: Int64, padding: Int, isTold: Bool)
        case padding(Int)
        case ended
    }

    private var phase = Phase.head
    private var octets: [UInt8] = []
    private var position = 0
    private var zeroBlocks = 0

    package init() {}

    package mutating func feed(_ more: some Sequence<UInt8>) {
        // Tools fill the last of their own, larger blocks.
        if case .ended = phase { return }
        octets.removeFirst(position)
        position = 0
        octets.append(contentsOf: more)
    }

    /// The next event; nil when more bytes are needed.
    package mutating func next() throws(Failure) -> Event? {
        while true {
            switch phase {
            case .ended: return nil
            case .head:
                guard let head = take(Tar.block) else { return nil }
                if head.allSatisfy({ $0 == 0 }) {
                    zeroBlocks += 1
                    guard zeroBlocks == 2 else { continue }
                    phase = .ended
                    (octets, position) = ([], 0)
                    return .end
                }
                zeroBlocks = 0
                if let event = try begin(Array(head)) { return event }
            case .content(let left, let padding, let isTold):
                guard left > 0 else {
                    phase = .padding(padding)
                    if isTold { return .endOfFile }
                    continue
                }
                let count = Int(min(left, Int64(octets.count - position)))
                guard count > 0, let part = take(count) else { return nil }
                phase = .content(left: left - Int64(count), padding: padding, isTold: isTold)
                if isTold { return .octets(Array(part)) }
            case .padding(let count):
                guard take(count) != nil else { return nil }
                phase = .head
            }
        }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard octets.count - position >= count else { return nil }
        defer { position += count }
        return octets[position..<position + count]
    }

    private mutating func begin(_ head: [UInt8]) throws(Failure) -> Event? {
        guard number(head[148..<156]) == Int64(Tar.sum(of: head)) else {
            throw Failure(description: "it is no tar archive, or it is damaged")
        }
        guard let size = number(head[124..<136]) else { throw Failure(description: "the size of a file is no number") }
        var name = text(head[0..<100])
        let prefix = text(head[345..<500])
        if head[257..<262].elementsEqual("ustar".utf8), !prefix.isEmpty { name = prefix + "/" + name }
        if name.hasPrefix("./") { name.removeFirst(2) }
        let type = head[156]
        // Links, devices and folders have no content, even if their header states a size. The other types are metadata
        // that tools add about the next file.
        if (UInt8(ascii: "1")...UInt8(ascii: "6")).contains(type) { return nil }
        let isFile = type == UInt8(ascii: "0") || type == 0
        phase = .content(left: size, padding: Tar.padding(after: size), isTold: isFile)
        return isFile ? .file(name: name, size: size) : nil
    }

    private func text(_ octets: ArraySlice<UInt8>) -> String {
        String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// An octal number, or a binary one of up to 63 bits.
    private func number(_ field: ArraySlice<UInt8>) -> Int64? {
        guard let first = field.first else { return nil }
        if first & 0x80 != 0 {
            var value: Int64 = 0
            for octet in [first & 0x7F] + field.dropFirst() {
                guard value < 1 << 54 else { return nil }
                value = value << 8 | Int64(octet)
            }
            return value
        }
        let digits = field.drop { $0 == 0x20 }.prefix { $0 != 0x20 && $0 != 0 }
        if digits.isEmpty { return 0 }
        guard digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self), radix: 8)
    }
}
