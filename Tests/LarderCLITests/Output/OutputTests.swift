// SPDX-License-Identifier: Apache-2.0

import Larder
import Testing

@testable import LarderCLI

@Suite("What people see")
struct OutputTests {
    @Test func `numbers have no exponent`() throws {
        for (text, shown) in [("9e-05", "0.00009"), ("-2.5e-3", "-0.0025"), ("1e3", "1000"), ("0.25", "0.25")] {
            #expect(Outline.plain(try JSONValue(parsing: Array(text.utf8)), name: nil) == shown)
        }
    }

    @Test func `a narrow table leaves out its last columns`() {
        var table = Columns(
            sides: [.left, .right, .right], rows: [["api", "12", "100 %"]],
            heading: ["service", "requests", "hit ratio"])
        table.narrow(to: 26)
        #expect(table.text(.plain) == "service  requests\napi            12\n")
        table.narrow(to: 5)
        #expect(table.sides.count == 2)
    }

    @Test func `the counts of all runs have a line`() throws {
        let status = try JSONValue(
            parsing: """
                {"allTime": {"since": "2026-11-01T10:00:00Z", "hitRatio": 0.75, "requests": {"hit": 3, "miss": 1},
                 "bytes": {"saved": 1024}, "secondsSaved": 90.5}}
                """)
        #expect(
            StatusText.text(status, .plain).contains(
                "all time  hit ratio 75 % of 4 requests, 1 KiB and about 1 min 30 s saved, since 2026-11-01\n"))
    }

    @Test func `the status fits on a screen`() throws {
        let status = try JSONValue(
            parsing: """
                {"version": "0.1.0", "state": "serving", "uptimeSeconds": 11520.4, "addresses": ["127.0.0.1:3128"],
                 "requests": {"error": 7, "hit": 1234567, "own": 3, "stale": 0},
                 "hitRatio": 0.9999, "memory": {"bytes": 126353408, "limit": 268435456},
                 "disk": {"bytes": 0, "limit": 10737418240}, "resources": 4321, "bytes": {"sent": 1536, "saved": 1024},
                 "latencyMilliseconds": {"hits": {"p50": 0.04}, "loads": {"p50": 31}},
                 "services": [
                  {"name": "quiet", "requests": {"hit": 0}},
                  {"name": "api", "offline": true, "requests": {"hit": 1234560, "error": 7}, "hitRatio": 0.9,
                   "bytes": {"saved": 1024}, "latencyMilliseconds": {"hits": {"p50": 0.04}, "loads": {"p50": 31}}}],
                 "otherHosts": {"requests": {"hit": 7}},
                 "upstreams": [
                  {"origin": "http://well.test:80", "requests": 3, "failures": 0, "state": "closed", "lastError": null},
                  {"origin": "http://ill.test:80", "requests": 3, "failures": 0, "serverErrors": 2, "state": "closed"},
                  {"origin": "http://api.test:80", "requests": 9, "failures": 7, "state": "open",
                   "openUntil": "2026-01-01T00:00:00Z", "lastError": "refused",
                   "lastErrorAt": "2026-01-01T00:00:00Z"},
                  {"origin": "http://b.test:80", "requests": 5, "failures": 0, "state": "open", "openUntil": null,
                   "lastError": "it answered 503"}],
                 "loops": [{"turns": 1}], "ready": true}
                """)
        #expect(
            StatusText.text(status, .plain) == """
                Larder 0.1.0  serving, up 3 h 12 min, at 127.0.0.1:3128

                hit ratio  100 %
                requests   1 234 574
                           hit 1 234 567, error 7
                saved      1 KiB of 1.5 KiB sent to clients
                took       hits 40 µs, loads 31 ms (median)
                memory     120.5 MiB of 256 MiB (47.1 %)
                disk       0 B of 10 GiB (0 %)
                resources  4 321 in memory

                service         requests  errors  hit ratio  saved   hits  loads
                api offline    1 234 567       7       90 %  1 KiB  40 µs  31 ms
                (other hosts)          7       0        0 %    0 B      -      -
                quiet                  0       0        0 %    0 B      -      -

                origin              requests  5xx  unanswered  last error
                http://ill.test:80         3    2           0
                http://api.test:80         9    0           7  left alone, as it fails: refused (2026-01-01T00:00:00Z)
                http://b.test:80           5    0           0  failed; the next request tries it again: it answered 503

                all there is: larder status --all

                """)
        let whole = StatusText.whole(status, .plain)
        #expect(whole.contains("ready ") && whole.contains("limit  256 MiB"))
        #expect(!whole.contains("turns"))
    }

    @Test(arguments: [
        ("The response is stored, and may be used.", "The response is\nstored, and may be\nused."),
        ("  - One has to be here.", "  - One has to be\n    here."),
        ("  12. One has to be here.", "  12. One has to be\n      here."),
        ("  name  a value of words", "  name  a value of\n        words"),
        ("GET http://a.test/a-long-path", "GET http://a.test/a-long-path"), ("short", "short"),
    ])
    func `a long line goes on below its beginning`(line: String, text: String) {
        #expect(WrappedLine.text(line, width: 20) == text)
        #expect(WrappedLine.text(line, width: nil) == line)
    }

    @Test(arguments: [
        (#"{"configuration": {"latest": {"accepted": false}}}"#, "the changed configuration was refused"),
        (#"{"configuration": {"latest": {"accepted": true, "takesRestart": ["listen"]}}}"#, "with a restart: listen"),
        (#"{"store": {"state": "reading only: no room"}}"#, "the cache on disk is reading only: no room"),
        (#"{"offline": {"mode": "auto", "networkLost": true}}"#, "no origin can be reached"),
        (#"{"offline": {"mode": "on", "networkLost": false}}"#, "offline mode is on"),
        (#"{"connections": {"refused": 3}}"#, "connections refused: 3"),
    ])
    func `the status says what is wrong`(status: String, text: String) throws {
        let status = try JSONValue(parsing: status)
        #expect(StatusText.troubles(status).count == 1)
        #expect(StatusText.text(status, .plain).contains(text))
        #expect(StatusText.troubles(["store": ["state": "working"], "offline": ["mode": "off"]]).isEmpty)
    }

    @Test func `the status says why the disk's limit is not the configured one`() {
        let narrow: JSONValue = ["disk": ["bytes": 0, "limit": 1_048_576, "configuredLimit": 2_097_152]]
        #expect(
            StatusText.text(narrow, .plain).contains(
                "0 B of 1 MiB (0 %); cache.disk is 2 MiB, but its file system has no more room\n"))
        let usual: JSONValue = ["disk": ["bytes": 0, "limit": 1_048_576, "configuredLimit": 1_048_576]]
        #expect(!StatusText.text(usual, .plain).contains("cache.disk"))
    }

    @Test func `the status has quotas, savings and tunnels where there are some`() throws {
        let status = try JSONValue(
            parsing: """
                {"quotas": [{"service": "github", "credential": "ab", "remaining": 4999, "limit": 5000, "resetSeconds": 60}],
                 "savings": [{"service": "openai", "model": "gpt", "answers": 1, "inputTokens": 12000, "outputTokens": 3}],
                 "interception": {"tunnels": [{"host": "a.test:443", "requests": 2, "bytes": 1024, "why": "not listed"}]}}
                """)
        let text = StatusText.text(status, .plain)
        for line in [
            "github    ab          4 999 of 5 000  1 min", "openai    gpt          1        12 000              3",
            "a.test:443             2  1 KiB  not listed",
        ] { #expect(text.contains(line + "\n"), "\(text)") }
    }

    @Test func `whether origins are asked is a line for each service`() throws {
        let report = try JSONValue(
            parsing: """
                {"mode": "on", "configured": "off", "chosen": "on", "networkLost": false, "services": [
                 {"name": "api", "mode": "on", "configured": "off", "offline": true},
                 {"name": "-", "mode": "off", "configured": "off", "offline": false}]}
                """)
        #expect(
            OfflineText.text(report, .plain) == """
                mode on, chosen until the daemon ends

                service        mode
                api            on    not asking
                (other hosts)  off   asking

                """)
    }

    @Test func `resources are a table with the URL last`() throws {
        let answer = try JSONValue(
            parsing: """
                {"total": 5, "resources": [
                 {"url": "https://api.test/a", "state": "fresh", "bytes": 2048, "age": 61, "ttl": 3, "service": "api"},
                 {"url": "https://api.test/b?c\\u001b[2J", "state": "stale", "bytes": 10, "age": 90000, "ttl": -30}]}
                """)
        #expect(
            ResourceTable.text(answer, .plain)
                == """
                state   size        age  fresh for  service  URL
                fresh  2 KiB  1 min 1 s        3 s  api      https://api.test/a
                stale   10 B    1 d 1 h          -  -        https://api.test/b?c\\u{1b}[2J
                and 3 more; raise --limit

                """)
    }

    @Test(arguments: ["[]", "{\"resources\": []}"])
    func `no resources are said to be none`(json: String) throws {
        #expect(ResourceTable.text(try JSONValue(parsing: json), .plain) == "no resources\n")
    }

    @Test func `anything else is an outline in its own order`() throws {
        let answer = try JSONValue(
            parsing: """
                {"url": "https://api.test/a", "isUpToDate": false, "lastError": null, "ageSeconds": 75,
                 "blocks": ["/a", "everything"], "reasons": [{"rule": "stale", "by": 3}, "other"], "none": [],
                 "stored": {"status": 200, "contentBytes": 1536, "fields": {"ETag": "\\"x\\""}}}
                """)
        #expect(
            Outline.text(answer, .plain) == """
                url            https://api.test/a
                is up to date  no
                last error     -
                age            1 min 15 s
                blocks         /a, everything
                reasons
                  - rule  stale
                    by    3
                  - other
                none           none
                stored
                  status         200
                  content bytes  1.5 KiB
                  fields
                    ETag  "x"

                """)
    }

    @Test func `colours are for terminals only`() throws {
        let status = try JSONValue(parsing: "{\"version\": \"1\", \"uptimeSeconds\": 1}")
        #expect(!StatusText.text(status, .plain).contains("\u{1B}"))
        #expect(StatusText.text(status, .coloured).contains("\u{1B}[1mLarder 1\u{1B}[0m"))
    }

    @Test(arguments: [
        (0.0, "0 s"), (0.25, "250 ms"), (59.9, "59 s"), (60, "1 min"), (3_601, "1 h"), (90_061, "1 d 1 h"),
    ])
    func `a time is its two largest units`(seconds: Double, text: String) {
        #expect(Quantity.seconds(seconds) == text)
    }

    @Test(arguments: [(0, "0 B"), (1_023, "1023 B"), (1_024, "1 KiB"), (1_536, "1.5 KiB"), (10 << 30, "10 GiB")])
    func `a size has at most one decimal`(bytes: Int, text: String) {
        #expect(Quantity.bytes(bytes) == text)
    }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567"), (-1_000, "-1 000")])
    func `a count has groups of three`(count: Int, text: String) {
        #expect(Quantity.count(count) == text)
    }
}
