// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("Configuration")
struct ConfigurationTests {
    private let fixture = Fixture()

    private func sentFields(_ resource: Resource, _ method: Method = .get) async -> Fields {
        fixture.transport.reply(method, resource.url.string, .text("ok"))
        _ = await resource.request(method).response()
        return fixture.transport.sent.last?.fields ?? Fields()
    }

    @Test func `CF-01 global configuration reaches every resource`() async {
        fixture.service.configure { $0.fields["X-All"] = "yes" }
        #expect(await sentFields(fixture.service.resource("a"))["X-All"] == "yes")
        #expect(await sentFields(fixture.service.resource(absoluteURL: "https://elsewhere/"))["X-All"] == "yes")
    }

    @Test func `CF-02 a pattern limits configuration`() async {
        fixture.service.configure("/users/*") { $0.fields["X-Users"] = "yes" }
        #expect(await sentFields(fixture.service.resource("users/1"))["X-Users"] == "yes")
        #expect(await sentFields(fixture.service.resource("users/1/friends"))["X-Users"] == nil)
    }

    @Test func `CF-03 a predicate limits configuration`() async {
        let special = fixture.service.resource("special")
        fixture.service.configure(whenURLMatches: { $0.target?.scheme == .https }) { $0.fields["X-Secure"] = "yes" }
        fixture.service.configure(whenURLMatches: { $0 != special.url }) { $0.fields["X-Plain"] = "yes" }
        #expect(await sentFields(special)["X-Secure"] == "yes")
        #expect(await sentFields(special)["X-Plain"] == nil)
        #expect(await sentFields(fixture.service.resource("a"))["X-Plain"] == "yes")
        #expect(await sentFields(fixture.service.resource(absoluteURL: "http://h/"))["X-Secure"] == nil)
    }

    @Test func `CF-05 a resource is not held by the pattern made of it`() {
        weak var released: Resource?
        do {
            let resource = fixture.service.resource("a")
            released = resource
            fixture.service.configure(resource.url) { $0.expirationTime = .seconds(7) }
            #expect(resource.configuration.expirationTime == .seconds(7))
            #expect(resource.withParam("x", "1").configuration.expirationTime == .seconds(30))
        }
        fixture.service.flushUnusedResources()
        #expect(released == nil)
    }

    @Test func `CF-06 configuration is limited to methods`() async {
        fixture.service.configure(methods: [.post]) { $0.fields["X-Post"] = "yes" }
        let resource = fixture.service.resource("a")
        #expect(await sentFields(resource, .post)["X-Post"] == "yes")
        #expect(await sentFields(resource, .get)["X-Post"] == nil)
    }

    @Test func `CF-06 unknown methods are configured like GET unless named`() {
        let report = Method("REPORT")!
        fixture.service.configure(methods: [.get]) { $0.fields["X"] = "get" }
        #expect(fixture.service.resource("a").configuration(for: report).fields["X"] == "get")
        fixture.service.configure(methods: [report]) { $0.fields["X"] = "report" }
        #expect(fixture.service.resource("a").configuration(for: report).fields["X"] == "report")
        #expect(fixture.service.resource("a").configuration(for: .get).fields["X"] == "get")
    }

    @Test func `CF-07 later entries win and leave the rest alone`() async {
        fixture.service.configure {
            $0.fields[.accept] = "application/json"
            $0.fields[.userAgent] = "test"
        }
        fixture.service.configure("/a") { $0.fields[.accept] = "text/plain" }
        let fields = await sentFields(fixture.service.resource("a"))
        #expect(fields[.accept] == "text/plain")
        #expect(fields[.userAgent] == "test")
    }

    @Test func `CF-08 configuration tells what it came from`() {
        fixture.service.configure("/a", description: "for a") { _ in }
        fixture.service.configure("/*") { _ in }
        let frozen = fixture.service.resource("a").frozenConfiguration(for: .get)
        #expect(frozen.entries.suffix(2) == ["for a", "/*"])
        #expect(fixture.service.resource("b").frozenConfiguration(for: .get).entries.last == "/*")
    }

    @Test func `CF-09 the defaults`() {
        let configuration = fixture.service.resource("a").configuration
        #expect(configuration.expirationTime == .seconds(30))
        #expect(configuration.retryTime == .seconds(1))
        #expect(configuration.progressReportingInterval == .milliseconds(50))
        #expect(configuration.fields == ConfiguredFields())
        #expect(configuration.expirationMode == .override)
    }

    @Test func `CF-10 times count for GET only`() {
        fixture.service.configure(methods: [.post]) {
            $0.expirationTime = .seconds(1)
            $0.retryTime = .seconds(100)
        }
        let resource = fixture.service.resource("a")
        resource.overrideLocalData(with: .text("x"))
        fixture.clock.advance(by: .seconds(20))
        #expect(resource.isUpToDate)
    }

    @Test func `CF-11 B-20 fields are set and taken off whatever their case`() async {
        fixture.service.configure {
            $0.fields["X-One"] = "1"
            $0.fields["x-two"] = "2"
        }
        fixture.service.configure("/a") {
            $0.fields["X-ONE"] = nil
            $0.fields["X-Two"] = "zwei"
        }
        let fields = await sentFields(fixture.service.resource("a"))
        #expect(fields["X-One"] == nil)
        #expect(fields[all: "X-Two"] == ["zwei"])
        #expect(await sentFields(fixture.service.resource("b"))["X-One"] == "1")
    }

    @Test func `B-20 fields go out in the order in which they were set`() async {
        let names = ["X-Zulu", "X-Alpha", "X-Mike", "X-Bravo", "X-Yankee", "X-Delta"]
        fixture.service.configure { for name in names { $0.fields[FieldName(name)!] = name } }
        let sent = await sentFields(fixture.service.resource("a"))
        var order: [String] = []
        sent.forEachLine { _, spelling, _ in order.append(String(decoding: spelling, as: UTF8.self)) }
        #expect(order.map { $0.lowercased() }.filter { $0.hasPrefix("x-") } == names.map { $0.lowercased() })
    }

    @Test func `CF-12 B-33 configuration is frozen until it is invalidated`() {
        let value = Recorder<String>()
        value("old")
        let calls = Recorder<Int>()
        fixture.service.configure {
            calls(1)
            $0.fields["X"] = value.values.last
        }
        let resource = fixture.service.resource("a")
        for _ in 0..<5 { #expect(resource.configuration.fields["X"] == "old") }
        #expect(calls.count == 1)
        value("new")
        #expect(resource.configuration.fields["X"] == "old")
        fixture.service.invalidateConfiguration()
        #expect(calls.count == 1)
        #expect(resource.configuration.fields["X"] == "new")
        #expect(resource.configuration(for: .post).fields["X"] == "new")
        #expect(fixture.service.resource("b").configuration.fields["X"] == "new")
        #expect(calls.count == 2)
    }

    @Test func `CF-13 adding an entry has configuration computed anew`() {
        let resource = fixture.service.resource("a")
        let before = resource.frozenConfiguration(for: .get)
        fixture.service.configure { $0.expirationTime = .seconds(3) }
        #expect(resource.configuration.expirationTime == .seconds(3))
        #expect(resource.frozenConfiguration(for: .get).version == before.version + 1)
        #expect(before.configuration.expirationTime == .seconds(30))
    }

    @Test func `CF-14 nothing is computed for what is only passed through`() {
        let calls = Recorder<String>()
        fixture.service.configure(whenURLMatches: {
            calls($0.string)
            return true
        }) { _ in calls("entry") }
        let resource = fixture.service.resource("a").child("b").relative("c").withParam("d", "e")
        #expect(calls.count == 0)
        _ = resource.configuration
        #expect(calls.values == [resource.url.string, "entry"])
        _ = fixture.service.resource(absoluteURL: "no URL").configuration
        // The pattern is compared with any text, but the entry has been applied already.
        #expect(calls.values.last == "no URL" && calls.count == 3)
    }

    @Test func `CF-15 all entries can be replaced in one step`() {
        fixture.service.configure { $0.expirationTime = .seconds(1) }
        fixture.service.replaceConfiguration(with: [
            ConfigurationEntry(description: "new") { $0.retryTime = .seconds(9) }
        ])
        let frozen = fixture.service.resource("a").frozenConfiguration(for: .get)
        #expect(frozen.entries == ["new"])
        #expect(frozen.configuration.expirationTime == .seconds(30))
        #expect(frozen.configuration.retryTime == .seconds(9))
    }

    @Test func `CF-16 a token that changes reaches the next request`() async {
        let token = Recorder<String>()
        token("first")
        fixture.service.configure("**") { $0.fields[.authorization] = token.values.last }
        let resource = fixture.service.resource("a")
        #expect(await sentFields(resource)[.authorization] == "first")
        _ = await resource.load().response()
        token("second")
        fixture.service.invalidateConfiguration()
        fixture.service.wipeResources()
        #expect(resource.latestData == nil)
        #expect(await sentFields(resource)[.authorization] == "second")
    }

    @Test(arguments: [
        "https://elsewhere/x", "http://api.example/v1/x", "https://api.example/v2/x", "https://api.example/v1/../x",
        "https://api.example:8443/v1/x", "https://api.example.evil.org/v1/x",
    ])
    func `CF-17 credentials scoped to two stars stay below the base URL`(_ url: String) async {
        fixture.service.configure("**") { $0.fields[.authorization] = "secret" }
        #expect(await sentFields(fixture.service.resource(absoluteURL: url))[.authorization] == nil)
        #expect(await sentFields(fixture.service.resource("x"))[.authorization] == "secret")
    }

    @Test(arguments: [
        (Configuration.ExpirationMode.override, 30), (.fallback, 10), (.cap, 10), (.floor, 30),
    ])
    func `HT-01 the origin's lifetime and the configured one go together`(
        _ mode: Configuration.ExpirationMode, _ seconds: Int
    ) async {
        fixture.service.configure { $0.expirationMode = mode }
        fixture.reply("a", .text("x", [.cacheControl: "max-age=10"]))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(seconds))
        #expect(resource.isUpToDate)
        fixture.clock.advance(by: .seconds(1))
        #expect(!resource.isUpToDate)
    }

    @Test func `HT-07 the age data had when it came counts except in override mode`() async {
        fixture.reply("a", .text("x", [.cacheControl: "max-age=10", .age: "8"]))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(5))
        #expect(resource.isUpToDate)
        fixture.service.configure { $0.expirationMode = .fallback }
        #expect(!resource.isUpToDate)
    }

    @Test func `offline configuration asks nobody and keeps what is here`() async {
        let resource = fixture.service.resource("a")
        resource.overrideLocalData(with: .text("here"))
        fixture.service.configure { $0.isOffline = true }
        let info = await resource.load().response()
        #expect(info.response.cause is ServiceOffline)
        #expect(resource.text == "here")
        #expect(fixture.transport.sent.isEmpty)
    }

    // MARK: Closures that look at what they configure

    private func looking(
        at path: String = "a", problems: Recorder<String>, _ look: @escaping @Sendable (Resource) -> Void
    ) -> Fixture {
        let fixture = Fixture(log: ModelLog { _, line in problems(line) })
        fixture.service.configure { $0.expirationTime = .seconds(7) }
        fixture.service.configure("/*") { [weak service = fixture.service] configuration in
            if let resource = service?.resource(path) { look(resource) }
            configuration.fields["X-A"] = "1"
        }
        return fixture
    }

    @Test(
        arguments: [
            { $0.overrideLocalContent(with: "b") }, { $0.wipe(.memoryAndCaches) }, { $0.loadIfNeeded()?.cancel() },
            { $0.invalidate() }, { _ = ($0.latestData, $0.isUpToDate, $0.state) },
            { #expect($0.configuration.expirationTime == .seconds(7) && $0.configuration.fields["X-A"] == nil) },
        ] as [@Sendable (Resource) -> Void])
    func `a closure that asks for what it makes gets what there is so far, and the log says so`(
        _ look: @escaping @Sendable (Resource) -> Void
    ) {
        let problems = Recorder<String>()
        let fixture = looking(problems: problems, look)
        for path in ["a", "b", "a"] {
            let configuration = fixture.service.resource(path).configuration
            #expect(configuration.fields["X-A"] == "1" && configuration.expirationTime == .seconds(7))
        }
        #expect(problems.count <= 1)
        #expect(problems.values.allSatisfy { $0.contains("'/*' asks for the configuration that it makes") })
    }

    @Test func `two closures that ask for each other's resources end`() {
        let problems = Recorder<String>()
        let fixture = looking(at: "b/c", problems: problems) { _ = $0.configuration }
        fixture.service.configure("/b/c") { [weak service = fixture.service] configuration in
            configuration.fields["X-B"] = service?.resource("a").configuration.fields["X-A"] ?? "none"
        }
        #expect(fixture.service.resource("a").configuration.fields["X-A"] == "1")
        #expect(fixture.service.resource("b/c").configuration.fields["X-B"] == "1")
        #expect(problems.count == 1)
    }

    @Test func `a closure that changes the configuration changes nothing, and the log says so`() {
        let (problems, runs) = (Recorder<String>(), Recorder<Void>())
        let fixture = looking(problems: problems) {
            runs(())
            $0.service.invalidateConfiguration()
            $0.service.configure("/b") { $0.fields["X-B"] = "1" }
        }
        let version = fixture.service.configurationVersion
        for path in ["a", "b", "a"] { #expect(fixture.service.resource(path).configuration.fields["X-A"] == "1") }
        #expect(fixture.service.configurationVersion == version && runs.count == 1)
        #expect(problems.count == 2 && problems.values[0].contains("invalidateConfiguration"))
    }
}
