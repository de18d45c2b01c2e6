// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Larder
import LarderIO
import Testing

@testable import LarderCLI

@Suite("Having programs use a daemon")
struct RunningTests {
    @Test(arguments: [
        (["127.0.0.1:3128", "[::1]:3128"], "http://127.0.0.1:3128"),
        (["unix:/run/x", "[::1]:3128"], "http://[::1]:3128"),
        (["0.0.0.0:80"], "http://127.0.0.1:80"), (["[::]:80"], "http://[::1]:80"),
        (["192.0.2.1:3128"], "http://192.0.2.1:3128"),
    ]) func `programs are told an address that leads to the daemon`(addresses: [String], url: String) throws {
        let variables = try ProxyVariables(addresses: addresses, environment: [:])
        #expect(Set(variables.values.filter { !$0.name.lowercased().hasPrefix("no") }.map(\.value)) == [url])
        #expect(variables.values.first { $0.name == "no_proxy" }?.value == "localhost,127.0.0.1,::1")
    }

    @Test func `hosts that need no proxy still need none`() throws {
        let variables = try ProxyVariables(
            addresses: ["127.0.0.1:1"], environment: ["NO_PROXY": ".corp.example, localhost"])
        #expect(variables.values.first { $0.name == "NO_PROXY" }?.value == ".corp.example,localhost,127.0.0.1,::1")
    }

    @Test(arguments: [[], ["unix:/run/larder/larder.sock"]]) func `without an address there is nothing to tell`(
        addresses: [String]
    ) {
        #expect(throws: CommandFailure.self) { try ProxyVariables(addresses: addresses, environment: [:]) }
    }

    @Test func `shells are told in their own words`() throws {
        let variables = try ProxyVariables(addresses: ["127.0.0.1:1"], environment: ["no_proxy": "it's"])
        let sh = ProxyVariables.text(variables.values, in: .sh)
        #expect(sh.hasPrefix("export http_proxy='http://127.0.0.1:1'\nexport https_proxy="))
        #expect(sh.contains("export no_proxy='it'\\''s,localhost,127.0.0.1,::1'\n"))
        let fish = ProxyVariables.text(variables.values, in: .fish)
        #expect(fish.hasPrefix("set -gx http_proxy 'http://127.0.0.1:1';\n"))
        #expect(fish.contains("'it\\'s,localhost"))
    }

    @Test func `units and files are told in theirs`() {
        let values = [ProxyVariables.Value(name: "A", value: "50% of \"x\" \\")]
        #expect(ProxyVariables.text(values, in: .systemd) == "Environment=\"A=50%% of \\\"x\\\" \\\\\"\n")
        #expect(ProxyVariables.text(values, in: .lines) == "A=50% of \"x\" \\\n")
        #expect(ProxyVariables.removal(of: ["A", "b"], in: .sh) == "unset A\nunset b\n")
        #expect(ProxyVariables.removal(of: ["A"], in: .fish) == "set -e A;\n")
    }

    @Test func `a recording without requests is told, and what is kept instead of it`() {
        func lines(_ kept: JSONValue) -> [String] {
            let recording: JSONValue = ["name": "a", "isReplayed": false, "requests": 0, "keptRequests": kept]
            return LaneSummary(json: ["requests": 0, "recording": recording], command: "true").lines
        }
        #expect(lines(.null).last == "recorded as a: 0 requests")
        #expect(
            lines(2).last
                == "not recorded as a: no request came that could be, so the recording of that name with 2 requests is kept"
        )
    }

    @Test func `of a replay it is said what was not recorded`() {
        let recording: JSONValue = [
            "name": "a", "isReplayed": true, "requests": 3, "lacking": 2, "firstLacking": ["GET http://a.test/x"],
        ]
        let lines = LaneSummary(json: ["requests": 4, "hits": 2, "recording": recording], command: "true").lines
        #expect(
            lines.dropFirst() == [
                "replayed from a, which has 3 requests", "not in the recording: 2 requests, answered 504",
                "  GET http://a.test/x", "  …",
            ])
    }

    @Test(arguments: [
        ("/shop/products/*", "'https://a.test/products/*'"), ("/shop", "'https://a.test/**'"),
        ("/shop/v2/x", "'https://a.test/v2/api/x'"), ("/products/*", nil), ("https://a.test/shop/*", nil),
    ])
    func `a pattern that begins with a service's mount is answered with one that does not`(
        pattern: String, meant: String?
    ) {
        let services: [JSONValue] = [
            ["name": "shop", "mount": "/shop/", "baseURL": "https://a.test/"],
            ["name": "new", "mount": "/shop/v2/", "baseURL": "https://a.test/v2/api/"],
            ["name": "all", "mount": "/", "baseURL": "https://b.test/"],
        ]
        let words = GatewayPattern.meant(by: pattern, services)
        #expect(meant.map { words?.hasSuffix($0) == true } ?? (words == nil), "\(words ?? "nil")")
    }

    @Test func `former values come back, the first ones after two calls too`() {
        let (a, b) = (ProxyVariables.Value(name: "a", value: "1"), ProxyVariables.Value(name: "b", value: "2"))
        var environment = ["a": "it's\n$(x) \\"]
        for values in [[a, b], [a, ProxyVariables.Value(name: "c", value: "3")]] {
            for value in FormerVariables(in: environment).remembering(values) { environment[value.name] = value.value }
        }
        #expect(environment["LARDER_FORMER"] == "a b c")
        let former = FormerVariables(in: environment)
        #expect(
            former.restoration(in: .sh)
                == "export a='it'\\''s\n$(x) \\'\nunset LARDER_FORMER_a\nunset b\nunset c\nunset LARDER_FORMER\n")
        #expect(former.restoration(in: .fish).hasPrefix("set -gx a 'it\\'s\n$(x) \\\\';\nset -e LARDER_FORMER_a;\n"))
        // A line cannot hold it.
        #expect(former.restoration(in: .lines) == "LARDER_FORMER_a=\nb=\nc=\nLARDER_FORMER=\n")
        #expect(FormerVariables(in: ["LARDER_FORMER": "a;id $(x) é"]).isEmpty)
        #expect(FormerVariables(in: [:]).isEmpty)
    }

    @Test func `certificates are what a JVM reads`() throws {
        let pem = "# a comment\n-----BEGIN CERTIFICATE-----\nAQID\nBA==\n-----END CERTIFICATE-----\n"
        let store = JavaTrustStore.octets(of: Array((pem + pem).utf8), at: 1)
        #expect(store.starts(with: [0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 13]))
        #expect(store.count == 12 + 2 * (4 + 15 + 8 + 7 + 4 + 4) + 20)
        #expect(JavaTrustStore.octets(of: [], at: 1).count == 32)
    }

    @Test(
        arguments: [
            (["env", "--fish", "--docker"], "one form"), (["env", "--lane", "--off"], "ends one"),
            (["env", "--lane", "--docker"], "this machine"),
            (["run", "--record", "a", "--offline", "--", "x"], "asks"),
            (["run", "--replay", "a", "--tunnel", "--", "x"], "unseen"),
        ])
    func `words that exclude each other are refused`(arguments: [String], words: String) {
        #expect {
            _ = try Program.parseAsRoot(arguments)
        } throws: { error in
            Program.message(for: error).contains(words)
        }
    }

    @Test func `a shell takes the variables over as they are`() throws {
        let variables = try ProxyVariables(addresses: ["127.0.0.1:1"], environment: ["no_proxy": "it's $HOME `x`"])
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", ProxyVariables.text(variables.values, in: .sh) + "printf %s \"$NO_PROXY\""]
        let pipe = Pipe()
        shell.standardOutput = pipe
        try shell.run()
        let said = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        shell.waitUntilExit()
        #expect(said == "it's $HOME `x`,localhost,127.0.0.1,::1")
    }

    @Test func `a command ignores the signals that were ignored before, and no others`() {
        // Two that nobody else uses: the terminal's would be for all tests.
        let signals = [SIGVTALRM, SIGPROF]
        signal(SIGVTALRM, SIG_IGN)
        defer { for number in signals { signal(number, SIG_DFL) } }
        let defaults = LaneProcess.ignore(signals)
        #expect(defaults == [SIGPROF])
        let command = ["/bin/sh", "-c", "kill -VTALRM $$; kill -PROF $$; exit 1"]
        let status = (try? SpawnedCommand.start(command, defaults: defaults).get()).map(SpawnedCommand.wait)
        #expect(status == 128 + SIGPROF)
    }

    @Test(arguments: [
        (["run"], "name a command"), (["run", "--"], "name a command"), (["warm", "x", "--parallel", "0"], "1 to 64"),
    ])
    func `what makes no sense is refused`(arguments: [String], words: String) {
        #expect {
            _ = try Program.parseAsRoot(arguments)
        } throws: { error in
            Program.message(for: error).contains(words)
        }
    }

    // MARK: Warming

    @Test func `a file has a URL on each line`() {
        let text = "# these\nhttps://a/1\n\n  https://a/2\t\r\n#https://a/3\n/api/4"
        #expect(Warming.urls(in: Array(text.utf8)) == ["https://a/1", "https://a/2", "/api/4"])
    }

    @Test func `all are loaded, no more than so many at a time, and failures are told`() {
        let busy = Lock((now: 0, most: 0))
        let warming = Warming { url in
            busy.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            defer { busy.withLock { $0.now -= 1 } }
            let number = Int(url.dropFirst()) ?? 0
            switch number % 5 {
            case 0: throw CommandFailure("no \(number)")
            case 1: return ["result": "up to date; the origin was not asked"]
            case 2: return ["result": "loaded, but not stored: `larder explain` says why", "status": 200]
            case 3: return ["result": "loaded, but not stored: `larder explain` says why", "status": 404]
            default: return ["result": "loaded and stored", "status": 200]
            }
        }
        let told = Lock<[Int]>([])
        let summary = warming.run((0..<100).map { "/\($0)" }, parallel: 4) { summary in
            told.withLock { $0.append(summary.total) }
        }
        #expect(summary.loaded == 20 && summary.upToDate == 20 && summary.notStored == 20)
        #expect(summary.failures.count == 40)
        #expect(Set(summary.failures.map(\.why)).contains("the origin answered 404"))
        #expect(summary.failures.contains(.init(url: "/5", why: "no 5")))
        #expect(told.withLock { $0 } == Array(1...100))
        #expect((1...4).contains(busy.withLock { $0.most }))
    }

    @Test func `the summary is for people and for programs`() throws {
        var summary = Warming.Summary()
        summary.loaded = 12
        #expect(summary.text(.plain) == "12 loaded, 0 up to date already\n")
        summary.failures = [.init(url: "https://a/\u{1B}", why: "no")]
        #expect(summary.text(.plain).hasSuffix(", 1 failed\n  https://a/\\u{1b}: no\n"))
        #expect(summary.json["failures"]?[0]?["error"]?.string == "no")
        #expect(summary.json["total"]?.int == 13)
    }

    @Test func `nothing to load is nothing to do`() {
        let summary = Warming { _ in .null }.run([], parallel: 8) { _ in }
        #expect(summary == Warming.Summary())
    }

    @Test func `a socket that was named is the daemon, whatever the environment says`() throws {
        let environment = ["LARDER_URL": "http://anna:p@elsewhere:3128"]
        #expect(try ClientOptions.of(socket: nil).daemonURL(environment) == environment["LARDER_URL"])
        #expect(try ClientOptions.of(socket: "/run/larder.sock").daemonURL(environment) == nil)
        let both = environment.merging(["LARDER_SOCKET": "/run/a.sock"]) { $1 }
        #expect(try ClientOptions.of(socket: nil).daemonURL(both) == nil)
    }

    @Test func `the daemon's socket is that of an option, else of its configuration, else of the environment`() throws {
        func named(_ socket: String?, _ yaml: String?, _ environment: [String: String] = [:]) throws -> String? {
            let fixture = try ConfigurationFixture(yaml ?? "")
            var place = SocketOptions()
            place.socket = socket
            place.config = yaml == nil ? nil : fixture.loader.file
            return try place.named(environment)
        }
        let environment = ["LARDER_SOCKET": "/run/a.sock"]
        #expect(try named("/run/c.sock", nil, environment) == "/run/c.sock")
        #expect(try named(nil, nil, environment) == "/run/a.sock")
        #expect(try named(nil, nil, ["LARDER_SOCKET": ""]) == nil)
        // Secrets of the daemon's environment need not be there.
        let yaml = "admin: { socket: /run/b.sock, token: \"${SECRET}\" }\nlisen: []\n"
        #expect(try named(nil, yaml, environment) == "/run/b.sock")
        #expect(try named(nil, "cache: {}\n", environment) == nil)
        #expect(throws: (any Error).self) { try named(nil, "admin: { socket: none }\n") }
        #expect(throws: (any Error).self) { try named(nil, "admin: { socket\n") }
    }

    @Test func `name and password of the daemon's URL are those of the proxy`() throws {
        let credentials = ProxyVariables.credentials(in: "http://anna:p@s/s@localhost:3128")
        #expect(credentials == "anna:p%40s%2Fs")
        #expect(ProxyVariables.credentials(in: "http://localhost:3128") == nil)
        let variables = try ProxyVariables(
            addresses: ["127.0.0.1:1"], environment: [:],
            credentials: ProxyVariables.credentials(in: "anna:x@localhost"))
        #expect(variables.values.first?.value == "http://anna:x@127.0.0.1:1")
    }

    @Test func `a run without hits says why, and which preset would help`() {
        let json: JSONValue = [
            "requests": 5, "hits": 0, "stored": 1,
            "uncacheable": [
                ["reason": "not-cacheable", "why": "the origin names no lifetime", "requests": 3, "example": "a.test"]
            ],
            "missing": ["requests": 5, "first": ["GET https://pypi.org/simple/a/"]],
            "otherHosts": [
                ["host": "pypi.org", "requests": 1], ["host": "files.pythonhosted.org", "requests": 1],
                ["host": "a.test", "requests": 3],
            ],
        ]
        let lines = LaneSummary(json: json, command: "pip").lines
        #expect(
            lines == [
                "5 requests, 0 from the cache (0 %)", "stored: 1 response, for the next run",
                "not stored: 3 responses, as the origin names no lifetime (from a.test)",
                "`services: { pypi: { preset: pypi } }` in the daemon's configuration would keep what pypi.org sends "
                    + "(2 requests)",
            ])
        let listed = LaneSummary(json: json, command: "pip", listsMissing: true).lines
        #expect(
            Array(listed[1...3]) == ["not in the cache: 5 requests", "  GET https://pypi.org/simple/a/", "  …"])
    }

    @Test func `from the cache is what no origin had to send, as in the status`() {
        let outcomes: JSONValue = ["hit": 1, "validated": 2, "collapsed": 1, "stale": 1, "miss": 3, "error": 2]
        let lines = LaneSummary(json: ["requests": 10, "hits": 2, "outcomes": outcomes], command: "true").lines
        #expect(lines.first == "10 requests, 5 from the cache (50 %), for 3 of which an origin was asked", "\(lines)")
    }
}
