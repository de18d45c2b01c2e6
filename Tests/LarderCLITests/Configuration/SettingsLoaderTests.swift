// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Reading the configuration")
struct SettingsLoaderTests {
    // MARK: Precedence

    @Test func `without any file the defaults hold`() throws {
        let fixture = try ConfigurationFixture(nil)
        let loaded = try fixture.loader.load()
        #expect(loaded.file == nil)
        #expect(loaded.settings.cache.memory == .mebibytes(256))
        #expect(loaded.settings.listen.map { "\($0)" } == ["127.0.0.1:3128", "[::1]:3128"])
    }

    @Test func `the usual file is read when none is named`() throws {
        let fixture = try ConfigurationFixture(nil)
        let usual = try fixture.write("threads: 2\n", to: "usual.yaml")
        let loaded = try fixture.loader.load()
        #expect(loaded.file == usual)
        #expect(loaded.settings.threads == 2)
    }

    @Test func `a named file is read in place of the usual one`() throws {
        let fixture = try ConfigurationFixture("log: { access: true }\n")
        _ = try fixture.write("threads: 2\n", to: "usual.yaml")
        #expect(try fixture.settings().threads == nil)
        #expect(try fixture.settings().log.access)
    }

    @Test func `an option wins over the file, and the last option over earlier ones`() throws {
        let fixture = try ConfigurationFixture(
            "cache: { memory: 1 MiB, disk: 2 GiB }\n", set: ["cache.memory=2 MiB", "cache.memory=3 MiB"])
        let settings = try fixture.settings()
        #expect(settings.cache.memory == .mebibytes(3))
        #expect(settings.cache.disk == .gibibytes(2))
    }

    @Test func `an option replaces a whole map or one key of it`() throws {
        let file = "services:\n  a: { baseURL: \"http://a/\", offline: true }\n"
        let one = try ConfigurationFixture(file, set: ["services.a.baseURL=http://b/"]).settings()
        #expect(one.services.map(\.baseURL.description) == ["http://b/"])
        #expect(one.services[0].offline == .on)
        let all = try ConfigurationFixture(
            file, set: ["services={b: {baseURL: \"http://b/\"}}", "services.b.mount=/"]
        ).settings()
        #expect(all.services.map(\.name) == ["b"])
        #expect(all.services[0].effectiveMount == "/")
    }

    @Test(arguments: ["listen=127.0.0.1:1", "listen=[\"127.0.0.1:1\"]", "listen=\n- 127.0.0.1:1"])
    func `a list may be one value alone`(option: String) throws {
        #expect(try ConfigurationFixture(nil, set: [option]).settings().listen.map { "\($0)" } == ["127.0.0.1:1"])
    }

    @Test(arguments: [
        ("cache.memroy=1 MiB", "--set cache.memroy: cache: found the unknown key `memroy`"),
        ("threads=x", "--set threads: found `x`"), ("threads", "--set threads: found no value"),
        ("=1", "--set : found no value"), ("a..b=1", "--set a..b: found an empty part in the key"),
        ("threads.x=1", "--set threads.x: found a path through `threads`, which is not a map"),
        ("cache={disk: 1 GiB, dsk: 1}", "--set cache:1:15: cache: found the unknown key `dsk`"),
        ("listen=[", "--set listen: found text that is not YAML"),
        (
            "services.githb.offline=true",
            "--set services.githb.offline: services.githb: found a service without `baseURL`; did you mean "
                + "`services.github`? Expected the URL of the API"
        ),
    ])
    func `what is wrong with an option is told by its key`(option: String, message: String) throws {
        let fixture = try ConfigurationFixture(
            "threads: 1\nservices: { github: { baseURL: \"http://a/\" } }\n", set: [option])
        let problems = fixture.problems().map(\.description)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(message) == true, "\(problems)")
    }

    @Test func `an empty file, and keys with nothing below them, are the defaults`() throws {
        for yaml in ["", "# nothing\n", "---\n", "cache:\nservices:\nlog:\n"] {
            #expect(try ConfigurationFixture(yaml).settings().cache.disk == .gibibytes(10))
        }
    }

    @Test func `a file is read again each time`() throws {
        let fixture = try ConfigurationFixture("threads: 1\n")
        #expect(try fixture.settings().threads == 1)
        _ = try fixture.write("threads: 2\n", to: "larder.yaml")
        #expect(try fixture.settings().threads == 2)
    }

    // MARK: Places

    @Test(arguments: [
        ([:], 1_000 as UInt32, "/tmp/larder-1000/larder.sock"), ([:], 0, "/run/larder/larder.sock"),
        (["XDG_RUNTIME_DIR": "/run/user/1000"], 1_000, "/run/user/1000/larder.sock"),
        (
            ["XDG_RUNTIME_DIR": "/run/user/1000", "RUNTIME_DIRECTORY": "/run/larder:/run/more"], 1_000,
            "/run/larder/larder.sock"
        ),
        (["XDG_RUNTIME_DIR": "relative"], 1_000, "/tmp/larder-1000/larder.sock"),
    ])
    func `the socket is where the user's sockets are`(environment: [String: String], user: UInt32, path: String) {
        #expect(DefaultPaths(environment: environment, user: user).socket == path)
    }

    @Test(arguments: [
        ([:], 1_000 as UInt32, String?.none), ([:], 0, "/var/lib/larder/larder.db"),
        (["HOME": "/home/a"], 1_000, "/home/a/.local/state/larder/larder.db"),
        (["HOME": "/home/a", "XDG_STATE_HOME": "/s/"], 1_000, "/s/larder/larder.db"),
        (["HOME": "/home/a", "STATE_DIRECTORY": "/var/lib/larder"], 1_000, "/var/lib/larder/larder.db"),
    ])
    func `the database is where the user's state is`(environment: [String: String], user: UInt32, path: String?) {
        #expect(DefaultPaths(environment: environment, user: user).database == path)
    }

    @Test func `a client looks for this user's daemon, then for the system's`() {
        #expect(
            DefaultPaths(environment: ["HOME": "/h"], user: 1_000).configurations == [
                "/h/.config/larder/larder.yaml", "/etc/larder/larder.yaml",
            ])
        #expect(
            DefaultPaths(environment: ["HOME": "/h", "XDG_CONFIG_HOME": "/c"], user: 1_000).configurations[0]
                == "/c/larder/larder.yaml")
        #expect(DefaultPaths(environment: ["HOME": "/h"], user: 0).configurations == ["/etc/larder/larder.yaml"])
        #expect(DefaultPaths.lanes(beside: "/run/larder/larder.sock") == "/run/larder/larder-lanes.sock")
        let paths = DefaultPaths(environment: ["XDG_RUNTIME_DIR": "/run/user/1000"], user: 1_000)
        #expect(paths.socketCandidates == ["/run/user/1000/larder.sock", "/run/larder/larder.sock"])
    }

    @Test func `automatic places are replaced by the loader`() throws {
        let settings = try ConfigurationFixture(nil, environment: ["XDG_RUNTIME_DIR": "/run/user/1"]).settings()
        #expect(settings.admin.socket == .path("/run/user/1/larder.sock"))
        #expect(settings.cache.path == .path("/home/someone/.local/state/larder/larder.db"))
    }

    @Test func `a user without a home is told to name the cache`() throws {
        let fixture = try ConfigurationFixture(nil, environment: ["HOME": ""])
        #expect(fixture.problems().map(\.setting) == ["cache.path"])
        let named = try ConfigurationFixture(nil, set: ["cache.path=none"], environment: ["HOME": ""])
        #expect(try named.settings().cache.path == .none)
    }

    // MARK: Bounds

    @Test func `a file that is not there is told by its name`() throws {
        var loader = try ConfigurationFixture(nil).loader
        loader.file = "/nowhere/larder.yaml"
        #expect {
            try loader.load()
        } throws: { error in
            "\(error)".hasPrefix("/nowhere/larder.yaml: found a file that cannot be read: there is no such file")
        }
    }

    @Test func `a file above the limit is refused`() throws {
        let fixture = try ConfigurationFixture("#" + String(repeating: "x", count: SettingsLoader.fileLimit))
        #expect(fixture.problems().map(\.found) == ["a file that cannot be read: it is larger than 1 MiB"])
    }

    @Test func `octets that are not UTF-8 are refused with their place`() throws {
        let fixture = try ConfigurationFixture(bytes: Array("a: 1\nbé: ".utf8) + [0xFF])
        let problem = try #require(fixture.problems().first)
        #expect((problem.line, problem.column) == (2, 5))
        #expect(problem.found == "an octet that is not UTF-8")
    }

    @Test func `a control character is refused with its place`() throws {
        let problem = try #require(try ConfigurationFixture("a: 1\nb: \u{1}\n").problems().first)
        #expect((problem.line, problem.column) == (2, 4))
        #expect(problem.found == "text that is not YAML (a control character)")
    }

    @Test func `aliases may stand for values, as long as they are few`() throws {
        let settings = try ConfigurationFixture(
            """
            services:
              a: { baseURL: "http://a/", configure: [ { headers: &common { X: "1" } } ] }
              b: { baseURL: "http://b/", configure: [ { headers: *common } ] }
            """
        ).settings()
        #expect(settings.services[1].configure[0].headers.count == 1)
    }

    @Test func `a map takes over the entries of those it merges, its own first and then the earlier ones`() throws {
        let settings = try ConfigurationFixture(
            """
            services:
              a: &a { baseURL: "http://a/", mount: /first/, privacy: private }
              b: { <<: *a, baseURL: "http://b/", mount: /second/ }
              c: { <<: [{ mount: /third/ }, *a], baseURL: "http://c/" }
            """
        ).settings()
        #expect(settings.services.map { $0.baseURL.target.string } == ["http://a/", "http://b/", "http://c/"])
        #expect(settings.services.map(\.mount) == ["/first/", "/second/", "/third/"])
        #expect(settings.services.map(\.privacy) == [.private, .private, .private])
    }

    @Test(arguments: [("a: { <<: x }\n", 10), ("a: { <<: [{}, x] }\n", 15)])
    func `only maps can be merged`(yaml: String, column: Int) throws {
        let problem = try #require(try ConfigurationFixture(yaml).problems().first)
        #expect((problem.line, problem.column) == (1, column))
        #expect(problem.found == "text that is not YAML (`<<` with what is no map)")
    }

    @Test func `merges that multiply are refused`() throws {
        let entries = (0..<300).map { "k\($0): 1" }.joined(separator: ", ")
        let yaml = "a: &a { \(entries) }\n" + (0..<400).map { "b\($0): { <<: *a }\n" }.joined()
        let problem = try #require(try ConfigurationFixture(yaml).problems().first)
        #expect(problem.found == "text that is not YAML (more than 100000 merged entries)")
    }

    @Test func `an alias cannot stand for the value it is in`() throws {
        let problem = try #require(try ConfigurationFixture("a: &a [*a]\n").problems().first)
        #expect((problem.line, problem.column) == (1, 8))
        #expect(problem.found == "text that is not YAML (found undefined alias)")
    }

    @Test func `aliases that multiply are refused`() throws {
        var yaml = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...20 {
            yaml +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
                + "]\n"
        }
        let problems = try ConfigurationFixture(yaml).problems()
        #expect(problems.contains { $0.found == "more than 100000 values once aliases are written out" })
    }

    @Test(arguments: [40, 900, 100_000])
    func `values nested too deeply are refused`(depth: Int) throws {
        let problems = try ConfigurationFixture(
            "a: " + String(repeating: "[", count: depth)
                + String(repeating: "]", count: depth)
        ).problems()
        #expect(!problems.isEmpty)
    }

    @Test func `what aliases nest is as deep as if it were written out`() throws {
        func chain(_ levels: Int) -> String {
            "a: &a0 []\n" + (1...levels).map { "a\($0): &a\($0) [x, *a\($0 - 1)]\n" }.joined()
        }
        // The root and the first list are levels as well.
        let problem = try #require(try ConfigurationFixture(chain(199)).problems().first)
        #expect((problem.line, problem.column) == (200, 17))
        #expect(problem.found == "text that is not YAML (values nested more than 200 deep)")
        #expect(problem.advice == "close the brackets that are open, or nest fewer aliases")
        let shallower = try ConfigurationFixture(chain(198)).problems()
        #expect(!shallower.isEmpty && !shallower.contains { $0.found.contains("not YAML") })
    }

    @Test func `a key set three times is told twice, whatever its quotes`() throws {
        let problems = try ConfigurationFixture("threads: 1\n'threads': 2\n\"threads\": 3\n").problems()
        #expect(problems.map(\.line) == [2, 3])
        #expect(problems.map(\.found) == ["`threads` again", "`threads` again"])
    }
}
