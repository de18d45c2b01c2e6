// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderAdmin

@Suite("Tar archives")
struct TarTests {
    private static let files: [(name: String, octets: [UInt8])] = [
        ("archive.json", Array("{}".utf8)), ("entities/00000001.octets", []),
        ("entities/00000002.octets", [UInt8](repeating: 7, count: 512)),
        ("entities/00000003.octets", [UInt8](repeating: 8, count: 1_300)),
    ]

    private static var archive: [UInt8] {
        files.flatMap { Tar.file($0.name, $0.octets, modified: 1_000) } + Tar.end
    }

    /// The events of a reader, the octets of each file together.
    private func events(_ reader: inout TarReader) throws -> [TarReader.Event] {
        var events: [TarReader.Event] = []
        while let event = try reader.next() {
            if case .octets(let more) = event, case .octets(let octets) = events.last {
                events[events.count - 1] = .octets(octets + more)
            } else {
                events.append(event)
            }
        }
        return events
    }

    @Test(arguments: [1, 3, 511, 512, 513, 100_000])
    func `what is written is read again, in pieces of any length`(piece: Int) throws {
        var reader = TarReader()
        var names: [String] = []
        var contents: [[UInt8]] = []
        var isAtEnd = false
        for start in stride(from: 0, to: Self.archive.count, by: piece) {
            reader.feed(Self.archive[start..<min(start + piece, Self.archive.count)])
            for event in try events(&reader) {
                switch event {
                case .file(let name, let size):
                    names.append(name)
                    contents.append([])
                    #expect(size == Int64(Self.files[names.count - 1].octets.count))
                case .octets(let octets): contents[contents.count - 1] += octets
                case .endOfFile: break
                case .end: isAtEnd = true
                }
            }
        }
        #expect(names == Self.files.map(\.name))
        #expect(contents == Self.files.map(\.octets))
        #expect(isAtEnd)
    }

    @Test func `an archive that is cut anywhere does not end`() throws {
        for length in 0..<(Self.archive.count - 512) {
            var reader = TarReader()
            reader.feed(Self.archive.prefix(length))
            #expect(try !events(&reader).contains(.end))
        }
    }

    @Test func `what is no archive, or has a damaged head, is refused`() {
        var damaged = Self.archive
        damaged[3] ^= 1
        for octets in [Array(repeating: UInt8(ascii: "x"), count: 512), damaged] {
            var reader = TarReader()
            reader.feed(octets)
            #expect(throws: TarReader.Failure.self) { _ = try events(&reader) }
        }
    }

    @Test(arguments: [0, 1, 8_589_934_591, 8_589_934_592, 1 << 50] as [Int64])
    func `files may be longer than octal digits can say`(size: Int64) throws {
        var reader = TarReader()
        reader.feed(Tar.head("a", size: size, modified: 0))
        #expect(try reader.next() == .file(name: "a", size: size))
    }

    /// A head of another type of file.
    private static func head(_ name: String, size: Int64, type: String) -> [UInt8] {
        var head = Tar.head(name, size: size, modified: 0)
        head[156] = Array(type.utf8)[0]
        let sum = String(Tar.sum(of: head), radix: 8)
        head.replaceSubrange(148..<154, with: Array((String(repeating: "0", count: 6 - sum.count) + sum).utf8))
        return head
    }

    @Test func `folders and what other tools add are passed over`() throws {
        let note = Array("20 mtime=1.000000\n".utf8)
        var reader = TarReader()
        reader.feed(Self.head("./entities/", size: 0, type: "5"))
        reader.feed(Self.head("PaxHeaders", size: Int64(note.count), type: "x"))
        reader.feed(note + [UInt8](repeating: 0, count: Tar.padding(after: Int64(note.count))))
        reader.feed(Tar.file("./a", [1], modified: 0))
        #expect(try events(&reader) == [.file(name: "a", size: 1), .octets([1]), .endOfFile])
    }

    @Test(arguments: ["1", "2", "3", "4", "5", "6"])
    func `links, devices and folders have no octets, whatever they say`(type: String) throws {
        var reader = TarReader()
        reader.feed(Self.head("../../etc/passwd", size: 1 << 40, type: type) + Tar.file("a", [1], modified: 0))
        #expect(try events(&reader) == [.file(name: "a", size: 1), .octets([1]), .endOfFile])
    }

    @Test func `the rest after the end is not kept`() throws {
        var reader = TarReader()
        reader.feed(Tar.end)
        #expect(try events(&reader) == [.end])
        for _ in 0..<100 {
            reader.feed(Self.archive)
            #expect(try events(&reader) == [])
        }
    }

    @Test(arguments: ["+7", "-7", "9", "0x1"])
    func `a size that is no octal number is refused`(text: String) {
        var head = Tar.head("a", size: 0, modified: 0)
        head.replaceSubrange(124..<136, with: Array((text + String(repeating: " ", count: 12)).utf8.prefix(12)))
        let sum = String(Tar.sum(of: head), radix: 8)
        head.replaceSubrange(148..<154, with: Array((String(repeating: "0", count: 6 - sum.count) + sum).utf8))
        var reader = TarReader()
        reader.feed(head)
        #expect(throws: TarReader.Failure.self) { _ = try events(&reader) }
    }
}
