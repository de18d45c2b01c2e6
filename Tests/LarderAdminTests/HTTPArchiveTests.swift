// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderAdmin
@testable import LarderProxy

@Suite("HTTP archives")
struct HTTPArchiveTests {
    private static var exchange: RecordedExchange {
        var fields: Fields = ["Content-Type": "application/json", "Set-Cookie": "sid=1", "X-Name": "caf\u{E9}"]
        fields.append(.setCookie, "b=2")
        return RecordedExchange(
            method: "POST", url: "https://api.test/a?api_key=abc&q=1",
            requestFields: ["Content-Type": "application/x-www-form-urlencoded"],
            requestContent: Array("user=anna&password=hush".utf8),
            began: Timestamp(nanoseconds: 1_763_836_032_000_000_000),
            duration: .milliseconds(12), status: 201,
            fields: fields, content: Array(#"{"access_token": "s3cret", "n": 1.50}"#.utf8))
    }

    private static var binary: RecordedExchange {
        RecordedExchange(
            method: "PUT", url: "https://api.test/b", requestContent: [0, 255, 128], status: 200,
            fields: ["Content-Type": "image/png"], content: Array(0...255))
    }

    @Test func `all recordings under way have a room together, which those that end give back`() throws {
        let size = Self.binary.size
        let room = OctetRoom(limit: 3 * size)
        let first = Recording(name: "one", in: room)
        var second: Recording? = Recording(name: "two", in: room)
        for _ in 0..<2 { second?.add(Self.binary) }
        let replayed = Recording(name: "old", [Self.binary])
        var share = room.share(of: replayed.octets)
        #expect(share != nil && room.share(of: replayed.octets) == nil)
        first.add(Self.binary)
        #expect(first.count == 0 && first.omitted == 1 && second?.count == 2)
        share = nil
        first.add(Self.binary)
        second = nil
        for _ in 0..<3 { first.add(Self.binary) }
        #expect(first.count == 3 && first.octets == 3 * size)
        #expect(share == nil)
    }

    @Test func `what is written for oneself is read as it was, octet for octet`() throws {
        let recording = Recording(name: "one", [Self.exchange, Self.binary])
        let text = HTTPArchive.json(recording).description
        let read = try HTTPArchive.recording("one", from: Array(text.utf8))
        #expect(read.exchanges == recording.exchanges)
    }

    @Test func `what is handed to others has no secrets, and is found without them`() async throws {
        let recording = Recording(name: "one", [Self.exchange, Self.binary])
        let text = try await Self.exported(recording)
        for secret in ["abc", "hush", "s3cret", "sid=1", "b=2"] { #expect(!text.contains(secret), "\(secret)") }
        #expect(text.contains("1.50"))
        let read = try HTTPArchive.recording("two", from: Array(text.utf8))
        #expect(read.exchanges[1] == Self.binary)
        let replay = Replay(read)
        let found = replay.answer(
            to: "POST", "https://api.test/a?api_key=another&q=1", ["Content-Type": "application/x-www-form-urlencoded"],
            content: Array("user=anna&password=other".utf8))
        #expect(found?.status == 201)
        #expect(
            replay.answer(
                to: "POST", "https://api.test/a?api_key=abc&q=2", ["Content-Type": "application/x-www-form-urlencoded"],
                content: Array("user=anna&password=hush".utf8)) == nil)
    }

    @Test func `a request with a coding is found in what was handed to others`() async throws {
        func exchange(_ number: Int) throws -> RecordedExchange {
            RecordedExchange(
                method: "POST", url: "https://api.test/", requestFields: Self.coded,
                requestContent: try ContentCoding.gzip.encode(Array(#"{"q":\#(number),"token":"x"}"#.utf8)),
                status: Status(200 + number))
        }
        let text = try await Self.exported(Recording(name: "one", [try exchange(1), try exchange(2)]))
        let replay = Replay(try HTTPArchive.recording("two", from: Array(text.utf8)))
        for number in [2, 1] {
            let content = try ContentCoding.gzip.encode(Array(#"{"q":\#(number),"token":"other"}"#.utf8), level: 1)
            let found = replay.answer(to: "POST", "https://api.test/", Self.coded, content: content)
            #expect(found?.status == Status(200 + number))
        }
    }

    private static let coded: Fields = ["Content-Type": "application/json", "Content-Encoding": "gzip"]

    @Test(arguments: [
        "", "[]", #"{"log":{}}"#, #"{"log":{"entries":[{}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"ftp://x/"},"response":{"status":200}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"G T","url":"http://x/"},"response":{"status":200}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"http://x/"},"response":{"status":101}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"http://x/"},"response":{"status":200,"#
            + #""headers":[{"name":"a","value":"b\r\nc: d"}]}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"http://x/"},"response":{"status":200,"#
            + #""content":{"text":"?","encoding":"base64"}}}]}}"#,
    ])
    func `what is no archive, or would make no message, is refused`(text: String) {
        #expect(throws: HTTPArchive.Refusal.self) { try HTTPArchive.recording("x", from: Array(text.utf8)) }
    }

    @Test func `an archive of a browser is read`() throws {
        let text = """
            {"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"time":1.5,"request":{"method":"GET",
            "url":"https://a.test","headers":[{"name":":authority","value":"a.test"},{"name":"accept","value":"*/*"}]},
            "response":{"status":200,"headers":[{"name":"content-type","value":"text/plain"}],
            "content":{"size":2,"mimeType":"text/plain","text":"hi"}}}]}}
            """
        let read = try HTTPArchive.recording("x", from: Array(text.utf8))
        #expect(read.exchanges[0].url == "https://a.test/")
        #expect(read.exchanges[0].content == Array("hi".utf8))
        #expect(read.exchanges[0].requestFields["Accept"] == "*/*")
    }

    @Test func `an archive of a browser has decoded content, and lengths of other octets`() throws {
        let text = """
            {"log":{"version":"1.2","creator":{"name":"WebInspector","version":"1"},"entries":[{"request":{"method":"GET",
            "url":"https://a.test"},"response":{"status":200,"headers":[{"name":"Content-Encoding","value":"gzip"},
            {"name":"Content-Length","value":"99"},{"name":"Trailer","value":"x"}],"content":{"text":"hi"}}},
            {"request":{"method":"HEAD","url":"https://a.test"},"response":{"status":200,
            "headers":[{"name":"Content-Length","value":"99"}]}},{"request":{"method":"PUT","url":"https://a.test"},
            "response":{"status":204,"headers":[{"name":"Content-Length","value":"99"}]}}]}}
            """
        let read = try HTTPArchive.recording("x", from: Array(text.utf8)).exchanges
        #expect(read[0].fields.isEmpty)
        #expect(read[1].fields["Content-Length"] == "99")
        #expect(read[2].fields.isEmpty)
    }

    @Test func `recordings are files that only their owner may read`() throws {
        let directory = FreshDirectory()
        let files = RecordingFiles(directory: directory.path)
        #expect(try files.names() == [])
        #expect(try files.load("one") == nil)
        try files.save(Recording(name: "one", [Self.exchange]))
        try files.save(Recording(name: "one", [Self.exchange, Self.binary]))
        #expect(try files.names() == ["one"])
        #expect(try files.load("one")?.exchanges.count == 2)
        let draft = directory.path + "/" + RecordingFiles.folder + "/.new-1-2"
        #expect(close(creat(draft, 0o600)) == 0)
        files.removeDrafts()
        #expect(access(draft, F_OK) != 0)
        #expect(try files.names() == ["one"])
        #expect(try files.remove("one"))
        #expect(try !files.remove("one"))
    }

    @Test func `a folder of recordings that leads elsewhere, or that others can write to, is not used`() throws {
        let (directory, elsewhere) = (FreshDirectory(), FreshDirectory())
        let files = RecordingFiles(directory: directory.path)
        let folder = directory.path + "/" + RecordingFiles.folder
        let stranger = elsewhere.path + "/one.har"
        #expect(close(creat(stranger, 0o600)) == 0 && close(creat(elsewhere.path + "/.new-1-2", 0o600)) == 0)
        func expectRefusal() throws {
            #expect(throws: RecordingFiles.Failure.self) { try files.names() }
            #expect(throws: RecordingFiles.Failure.self) { try files.load("one") }
            #expect(throws: RecordingFiles.Failure.self) { try files.save(Recording(name: "two", [Self.exchange])) }
            #expect(throws: RecordingFiles.Failure.self) { try files.remove("one") }
            files.removeDrafts()
        }
        #expect(symlink(elsewhere.path, folder) == 0)
        try expectRefusal()
        #expect(access(stranger, F_OK) == 0 && access(elsewhere.path + "/.new-1-2", F_OK) == 0)
        #expect(access(elsewhere.path + "/two.har", F_OK) != 0)
        #expect(unlink(folder) == 0 && mkdir(folder, 0o700) == 0 && chmod(folder, 0o777) == 0)
        try expectRefusal()
        #expect(chmod(folder, 0o700) == 0)
        try files.save(Recording(name: "two", [Self.exchange]))
        #expect(try files.names() == ["two"])
    }

    @Test func `a recording without room on the disk is held, and says so`() throws {
        let directory = FreshDirectory()
        let folder = directory.path + "/" + RecordingFiles.folder
        #expect(symlink("/dev/null/nowhere", folder) == 0)
        let table = RecordingTable(keeper: RecordingFiles(directory: directory.path))
        let recording = Recording(name: "one", [Self.exchange])
        let unsaved = try #require(throws: RecordingTable.Unsaved.self) { try table.save(recording) }
        #expect(try table.recording("one") === recording)
        let problem = try #require(Problem.notSaved(unsaved))
        #expect(problem.status == 507 && problem.detail.contains("not a directory"), "\(problem)")
        unlink(folder)
        #expect(try table.names() == ["one"])
        try table.save(recording)
        #expect(try table.recording("one") !== recording)
        #expect(try table.remove("one"))
        #expect(try table.names() == [])
    }

    @Test(
        arguments: [
            ("one", true), ("a.b-c_1", true), ("", false), (".x", false), ("-x", false), ("a/b", false), ("a b", false),
            (String(repeating: "a", count: 81), false),
        ] as [(String, Bool)])
    func `names are names of files`(name: String, isName: Bool) {
        #expect(Recording.isName(name) == isName)
    }

    @Test func `fields of an archive for others have no secrets in their URLs`() async throws {
        let exchange = RecordedExchange(
            method: "GET", url: "http://a.test/", requestFields: ["Referer": "http://a.test/?token=hush1"], status: 302,
            fields: ["Location": "/cb#access_token=hush2", "Link": "</?api_key=hush3>", "X-Name": "caf\u{E9}?"])
        let text = try await Self.exported(Recording(name: "one", [exchange]))
        #expect(!text.contains("hush"))
        #expect(text.contains(#""redirectURL":"/cb#access_token=REDACTED""#), "\(text)")
        #expect(text.contains("caf\u{E9}?"))
    }

    @Test func `secrets are found in content with codings, and what cannot be decoded is left out`() throws {
        func exchange(_ codings: String, _ content: [UInt8]) -> RecordedExchange {
            let fields: Fields = [
                "Content-Type": "application/json", "Content-Encoding": codings, "Content-Digest": "sha-256=:x:",
            ]
            return RecordedExchange(
                method: "POST", url: "http://a.test/", requestFields: fields, requestContent: content, fields: fields,
                content: content)
        }
        let json = Array(#"{"token":"hush"}"#.utf8)
        let twice = try ContentCoding.br.encode(ContentCoding.gzip.encode(json))
        let expected = [
            (exchange("gzip, br", twice), #"{"token":"REDACTED"}"#),
            (exchange("identity", json), #"{"token":"REDACTED"}"#),
            (exchange("gzip", Array(twice)), "REDACTED"), (exchange("x-own", json), "REDACTED"),
        ]
        for (exchange, content) in expected {
            let clean = exchange.withoutSecrets
            #expect(String(decoding: clean.content, as: UTF8.self) == content)
            #expect(String(decoding: clean.requestContent, as: UTF8.self) == content)
            #expect(clean.fields == ["Content-Type": "application/json"])
            #expect(clean.requestFields == clean.fields)
        }
    }

    @Test func `an export is made piece by piece, of what has room`() async throws {
        let large = RecordedExchange(
            method: "GET", url: "http://a.test/", status: 200, content: [UInt8](repeating: 0x61, count: 200_000))
        for exchanges in [[], [Self.binary], [Self.binary, large, large, Self.binary, large]] {
            let pieces = try await Self.pieces(of: Recording(name: "one \" two", exchanges, omitted: 2))
            let text = pieces.flatMap { $0 }
            #expect(try HTTPArchive.recording("two", from: text).exchanges == exchanges)
            #expect(text == HTTPArchive.json(Recording(name: "one \" two", exchanges, omitted: 2)).octets)
            #expect(pieces.count == (exchanges.count > 1 ? 2 : 1))
        }
    }

    private static func pieces(of recording: Recording) async throws -> [[UInt8]] {
        let export = RecordingExport(recording, walkers: WorkerPool(name: "test", threads: 1, queueLimit: 4)) { false }
        var pieces: [[UInt8]] = []
        while let piece = try await export.next() { pieces.append([UInt8](piece.bytes)) }
        return pieces
    }

    private static func exported(_ recording: Recording) async throws -> String {
        String(decoding: try await pieces(of: recording).joined(), as: UTF8.self)
    }

    @Test func `an export ends with the daemon`() async throws {
        let walkers = WorkerPool(name: "test", threads: 1, queueLimit: 4)
        let export = RecordingExport(Recording(name: "one", [Self.exchange]), walkers: walkers) { true }
        await #expect(throws: RecordingExport.Ending.self) { try await export.next() }
    }

    @Test func `an archive of more values than requests need is refused before it takes memory`() {
        let entries = String(repeating: #"{"a":{"b":{}}},"#, count: 30)
        let archive = Array(#"{"log":{"entries":[\#(entries){}]}}"#.utf8)
        #expect {
            _ = try HTTPArchive.recording("a", from: archive, valueLimit: 90)
        } throws: {
            "\($0)".contains("more than 90 values")
        }
    }

    @Test func `whatever a recording takes, its archive can be read`() throws {
        var many = Self.exchange
        for number in 0..<50 { many.fields.append("X-Many", "\(number)") }
        for exchange in [Self.exchange, Self.binary, many] {
            let entry = HTTPArchive.entry(exchange).octets
            #expect(throws: Never.self) { try JSONValue(parsing: entry, valueLimit: exchange.valueCount) }
        }
        let recording = Recording(name: "one", valueLimit: 5 * many.valueCount)
        for _ in 0..<20 { recording.add(many) }
        #expect(recording.count == 5 && recording.omitted == 15)
        let archive = HTTPArchive.json(recording).octets
        #expect(
            try HTTPArchive.recording("one", from: archive, valueLimit: 5 * many.valueCount + 100).exchanges
                == recording.exchanges)
    }

    @Test func `content of control characters takes no more room in a file than in memory`() throws {
        var exchange = Self.binary
        exchange.content = [UInt8](repeating: 1, count: 30_000)
        let archive = HTTPArchive.json(Recording(name: "one", [exchange])).octets
        #expect(archive.count < 50_000)
        #expect(try HTTPArchive.recording("one", from: archive).exchanges == [exchange])
    }

    @Test(arguments: ["2", "-1", "1e300", "9223372036854775807", "\"many\""])
    func `an archive says how many requests are not in it`(text: String) throws {
        let archive = #"{"log":{"creator":{"name":"Larder"},"entries":[],"_omitted":\#(text)}}"#
        let recording = try HTTPArchive.recording("one", from: Array(archive.utf8))
        recording.add(Self.binary)
        #expect(recording.count == 1 && (0...1_000_000_000).contains(recording.omitted))
        #expect((recording.omitted == 2) == (text == "2"))
    }

    @Test func `fields count towards the limit of a recording`() {
        var exchange = Self.binary
        for _ in 0..<60 { exchange.fields.append("X-Long", String(repeating: "x", count: 1_000)) }
        #expect(Recording(name: "one", [exchange]).octets > 60_000)
    }

    @Test func `a replay remembers nothing of what was not recorded`() {
        let replay = Replay(Recording(name: "one", [Self.binary]))
        for number in 0..<100 {
            #expect(replay.answer(to: "GET", "https://api.test/\(number)?token=x", Fields(), content: []) == nil)
        }
        #expect(replay.turns.withLock { $0.isEmpty })
        #expect(replay.answer(to: "PUT", Self.binary.url, Fields(), content: Self.binary.requestContent) != nil)
    }
}
