// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderShared

@Suite("RESP2")
struct ReplyReaderTests {
    private static let samples: [(String, [Reply])] = [
        ("+OK\r\n", [.status("OK")]),
        (":1000\r\n:-7\r\n", [.integer(1000), .integer(-7)]),
        ("$5\r\nhello\r\n$0\r\n\r\n$-1\r\n", [.bulk(Array("hello".utf8)), .bulk([]), .null]),
        ("*0\r\n*-1\r\n", [.array([]), .null]),
        ("*3\r\n$1\r\na\r\n$-1\r\n:2\r\n", [.array([.bulk([97]), .null, .integer(2)])]),
        (
            "*1\r\n*2\r\n$3\r\nlog\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nm\r\n$2\r\nxy\r\n+PONG\r\n",
            [
                .array([
                    .array([
                        .bulk(Array("log".utf8)),
                        .array([
                            .array([.bulk(Array("1-1".utf8)), .array([.bulk([109]), .bulk(Array("xy".utf8))])])
                        ]),
                    ])
                ]), .status("PONG"),
            ]
        ),
        ("-ERR no\r\n", [.refusal(Refusal("ERR no"))]),
        ("*1\r\n-OOM full\r\n", [.array([.refusal(Refusal("OOM full"))])]),
    ]

    @Test(arguments: samples)
    func `replies are the same however their octets arrive`(_ text: String, _ expected: [Reply]) throws {
        let octets = Array(text.utf8)
        #expect(try Self.read([octets]) == expected)
        #expect(try Self.read(octets.map { [$0] }) == expected)
        for cut in 1..<octets.count {
            #expect(try Self.read([Array(octets[..<cut]), Array(octets[cut...])]) == expected)
        }
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\n", ":1x\r\n", "*1\r\n?\r\n", "$-2\r\n", "%1\r\n+a\r\n+b\r\n"])
    func `other protocols are refused`(_ text: String) {
        #expect(throws: ReplyReader.Malformed.self) { try Self.read([Array(text.utf8)]) }
    }

    @Test(arguments: [
        // Longer than its limit, before all of it is there.
        "$100000\r\n" + String(repeating: "x", count: 5000),
        "+" + String(repeating: "x", count: 5000),
        // More elements than are allowed, in one array or in several.
        "*2000000000\r\n", "*101\r\n", "*2\r\n*60\r\n" + String(repeating: ":1\r\n", count: 60) + "*60\r\n",
        // Many strings.
        "*50\r\n" + String(repeating: "$100\r\n" + String(repeating: "x", count: 100) + "\r\n", count: 50),
        // Deeper than any reply is.
        String(repeating: "*1\r\n", count: 7), String(repeating: "*1\r\n", count: 20),
    ])
    func `a reply takes no more memory than the limits allow`(_ text: String) {
        let limits = ReplyReader.Limits(octets: 4096, elements: 100)
        #expect(throws: ReplyReader.Malformed.self) { try Self.read([Array(text.utf8)], limits) }
    }

    @Test func `the limits are those of each reply`() throws {
        let limits = ReplyReader.Limits(octets: 4096, elements: 2)
        let text = String(repeating: "*2\r\n:1\r\n$3000\r\n" + String(repeating: "x", count: 3000) + "\r\n", count: 50)
        #expect(try Self.read([Array(text.utf8)], limits).count == 50)
    }

    @Test func `nothing is read after an error`() {
        let reader = ReplyReader()
        for text in ["?\r\n", "+OK\r\n"] {
            #expect(throws: ReplyReader.Malformed.self) {
                try Array(text.utf8).withUnsafeBytes { try reader.read($0) }
            }
        }
    }

    @Test func `a command is an array of its words`() {
        #expect(Command("GET", "a").octets == Array("*2\r\n$3\r\nGET\r\n$1\r\na\r\n".utf8))
        #expect(
            Command([Array("SET".utf8), [0, 13, 10], []]).octets
                == Array("*3\r\n$3\r\nSET\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n".utf8))
    }

    private static func read(
        _ pieces: [[UInt8]], _ limits: ReplyReader.Limits = ReplyReader.Limits()
    ) throws -> [Reply] {
        let reader = ReplyReader(limits: limits)
        return try pieces.flatMap { piece in try piece.withUnsafeBytes { try reader.read($0) } }
    }
}

@Suite("Error replies")
struct RefusalTests {
    private static let node = EngineNode.tcp(host: "10.0.0.1", port: 6381)

    @Test(
        arguments: [
            ("MOVED 3999 10.0.0.1:6381", .moved(slot: 3999, to: node)),
            ("ASK 0 10.0.0.1:6381", .ask(slot: 0, to: node)),
            ("MOVED 16383 :7000", .moved(slot: 16383, to: .tcp(host: "", port: 7000))),
            ("MOVED 1 fd00::1:7000", .moved(slot: 1, to: .tcp(host: "fd00::1", port: 7000))),
            ("MOVED 16384 10.0.0.1:6381", .other), ("MOVED 1", .other), ("MOVED 1 host", .other),
            ("MOVED -1 10.0.0.1:6381", .other), ("ASK 1 10.0.0.1:0", .other), ("ASK 1 10.0.0.1:65536", .other),
            ("CLUSTERDOWN Hash slot not served", .unavailable), ("LOADING Redis is loading", .unavailable),
            ("TRYAGAIN Multiple keys", .unavailable), ("MASTERDOWN Link with MASTER is down", .unavailable),
            ("OOM command not allowed", .unwritable), ("READONLY You can't write", .unwritable),
            ("NOREPLICAS Not enough", .unwritable), ("NOAUTH Authentication required.", .forbidden),
            ("WRONGPASS invalid", .forbidden), ("NOPERM this user", .forbidden), ("ERR unknown", .other), ("", .other),
        ] as [(String, Refusal.Kind)])
    func `are told apart`(_ text: String, _ kind: Refusal.Kind) {
        #expect(Refusal(text).kind == kind)
    }

    @Test func `a node without a host is where the question went`() {
        let asked = EngineNode.tcp(host: "10.0.0.9", port: 1)
        #expect(EngineNode.tcp(host: "", port: 7000).completed(from: asked) == .tcp(host: "10.0.0.9", port: 7000))
        #expect(Self.node.completed(from: asked) == Self.node)
    }
}
