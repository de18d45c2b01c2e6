// SPDX-License-Identifier: Apache-2.0

import Larder
import Testing

@testable import LarderCLI

@Suite("What people see")
struct OutputTests {
    @Test func `the status fits on a screen`() throws {
        let status = try JSONValue(
            parsing: """
                {"version": "0.1.0", "uptimeSeconds": 11520.4, "requests": {"error": 7, "hit": 1234567, "own": 3, "stale": 0},
                 "hitRatio": 0.9999, "memory": {"bytes": 126353408, "limit": 268435456},
                 "disk": {"bytes": 0, "limit": 10737418240}, "resources": 4321, "bytes": {"sent": 1536},
                 "loops": [{"turns": 1}], "ready": true}
                """)
        #expect(
            StatusText.text(status, .plain) == """
                Larder 0.1.0, up 3 h 12 min

                hit ratio  100 %
                memory     120.5 MiB of 256 MiB (47.1 %)
                disk       0 B of 10 GiB (0 %)
                resources  4 321 in memory

                requests
                hit       1 234 567
                stale             0
                error             7
                own               3

                bytes
                  sent  1.5 KiB
                ready  yes

                """)
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

                service       mode
                api           on    not asking
                (no service)  off   asking

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
