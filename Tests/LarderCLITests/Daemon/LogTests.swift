// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LarderHTTP
import LarderSettings
import Logging
import Testing

@testable import LarderCLI

@Suite("The daemon's log")
struct LogTests {
    static let line = LogLine(
        time: Timestamp(nanoseconds: 1_700_000_000_042_000_000), level: .warning, message: "it\nis \u{1B}[31mred",
        metadata: [("plain", "a/b"), ("quoted", "two \"words\""), ("empty", "")])

    @Test(arguments: [
        (
            LogLine.Style(),
            "2023-11-14T22:13:20.042Z warning it\\u{a}is \\u{1b}[31mred plain=a/b quoted=\"two \\\"words\\\"\" empty=\"\"\n"
        ),
        (
            LogLine.Style(isJournal: true),
            "<4>it\\u{a}is \\u{1b}[31mred plain=a/b quoted=\"two \\\"words\\\"\" empty=\"\"\n"
        ),
        (
            LogLine.Style(isJSON: true),
            #"{"time":"2023-11-14T22:13:20.042Z","level":"warning","message":"it\nis \u001b[31mred","plain":"a/b","quoted":"two \"words\"","empty":""}"#
                + "\n"
        ),
    ])
    func `a message is one line, whatever it holds`(style: LogLine.Style, text: String) {
        #expect(LogTests.line.text(style) == text)
    }

    @Test func `characters that turn the text around, or end its line, are escaped`() {
        let value = "a\u{202E}b\u{2028}c\u{2066}d\u{E0001}e"
        let line = LogLine(
            time: Timestamp(nanoseconds: 0), level: .notice, message: "x", metadata: [("user", value)])
        #expect(
            line.text(LogLine.Style(isJournal: true)).hasSuffix(#" user=a\u{202e}b\u{2028}c\u{2066}d\u{e0001}e"# + "\n")
        )
        let json = line.text(LogLine.Style(isJSON: true))
        #expect(json.hasSuffix(#""user":"a\u202eb\u2028c\u2066d\udb40\udc01e"}"# + "\n"))
        let plain = LogLine(time: line.time, level: .notice, message: "x", metadata: [("user", "ä€😀ب")])
        #expect(plain.text(LogLine.Style(isJournal: true)).hasSuffix("user=ä€😀ب\n"))
    }

    @Test func `a log that nobody reads does not hold the daemon's end up`() {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for _ in 0..<100 { writer.write(String(repeating: "x", count: 8_191) + "\n") }
        writer.close()
        // What the pipe had room for came in order.
        #expect(pipe.fileHandleForReading.availableData.prefix(8_192).last == UInt8(ascii: "\n"))
    }

    /// A file that cannot grow beyond a page, and may be written anew from its beginning.
    @Test func `lines that a full disk lost are counted, and none is torn`() throws {
        // MFD_ALLOW_SEALING, F_ADD_SEALS and F_SEAL_GROW: Swift does not import them, nor the function.
        let (allowSealing, addSeals, sealGrow): (UInt32, Int32, Int32) = (2, 1_033, 4)
        typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
        let create = unsafeBitCast(try #require(dlsym(nil, "memfd_create")), to: Create.self)
        let file = create("log", allowSealing)
        let page = Int(PIPE_BUF)
        defer { close(file) }
        #expect(ftruncate(file, page) == 0 && fcntl(file, addSeals, sealGrow) == 0)
        func written() -> String {
            var octets = [UInt8](repeating: 0, count: page)
            #expect(pread(file, &octets, page, 0) == page)
            return String(decoding: octets, as: UTF8.self)
        }
        let writer = LogWriter(descriptor: file)
        // Without a thread of its own each line is written at once.
        writer.close()
        writer.write(String(repeating: "a", count: page - 3) + "\n")
        writer.write("torn\n")
        #expect(written().hasSuffix("a\nto"))
        for _ in 0..<2 { writer.write("lost\n") }
        lseek(file, 0, SEEK_SET)
        writer.write("next\n")
        #expect(written().hasPrefix("rn\nnext\n2 log lines were dropped: "))
    }

    @Test func `the journal is known by its device and inode`() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        var status = stat()
        #expect(fstat(descriptor, &status) == 0)
        #expect(DaemonLog.isJournal("\(status.st_dev):\(status.st_ino)", descriptor))
        for other in [nil, "", "1", "1:2:3", "\(status.st_dev):\(status.st_ino + 1)"] {
            #expect(!DaemonLog.isJournal(other, descriptor))
        }
    }

    @Test func `level and form change while it runs`() throws {
        let pipe = Pipe()
        var settings = Settings().log
        settings.level = .warning
        let log = DaemonLog(settings, environment: [:], descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let logger = log.logger
        logger.info("dropped")
        settings.level = .debug
        settings.format = .json
        log.apply(settings)
        logger.info("kept", metadata: ["b": "2", "a": "1"])
        log.close()
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: try #require(try pipe.fileHandleForReading.readToEnd()), as: UTF8.self)
        #expect(text.hasSuffix("\"level\":\"info\",\"message\":\"kept\",\"a\":\"1\",\"b\":\"2\"}\n"))
        #expect(!text.contains("dropped"))
    }
}
