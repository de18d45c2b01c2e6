// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import LarderTransformers
import Testing

@testable import LarderProxy

@Suite("Renewing credentials")
struct RefreshTests {
    // MARK: One at a time

    @Test func `B-26 whoever comes during a refresh waits for its outcome`() async throws {
        let gate = RefreshGate()
        let now = Timestamp(seconds: 1_000)
        #expect(await gate.enter("a", now: now) { false } == .refresh)
        let followers = (0..<50).map { _ in Task { await gate.enter("a", now: now) { false } } }
        try await eventually("all wait") { gate.waitingCount == 50 }
        gate.finish(.renewed, now: now)
        for follower in followers { #expect(await follower.value == .done(true)) }
        #expect(await gate.enter("a", now: now) { true } == .done(true))
        #expect(await gate.enter("a", now: now) { false } == .refresh)
    }

    @Test func `B-26 a failure stands for a second`() async throws {
        let gate = RefreshGate()
        let now = Timestamp(seconds: 1_000)
        #expect(await gate.enter("a", now: now) { false } == .refresh)
        let follower = Task { await gate.enter("a", now: now) { false } }
        try await eventually("it waits") { gate.waitingCount == 1 }
        gate.finish(.failed, now: now)
        #expect(await follower.value == .done(false))
        #expect(await gate.enter("a", now: now + .milliseconds(999)) { false } == .failedLately)
        #expect(!gate.isIdle(at: now + .milliseconds(999)) && gate.isIdle(at: now + .seconds(1)))
        #expect(await gate.enter("a", now: now + .seconds(1)) { false } == .refresh)
    }

    @Test func `whoever waited for what is dropped tries again`() async throws {
        let gate = RefreshGate()
        let now = Timestamp(seconds: 1_000)
        #expect(await gate.enter("a", now: now) { false } == .refresh)
        let follower = Task { await gate.enter("a", now: now) { false } }
        try await eventually("it waits") { gate.waitingCount == 1 }
        gate.finish(.dropped, now: now)
        #expect(await follower.value == .again)
        #expect(await gate.enter("a", now: now) { false } == .refresh)
    }

    @Test func `another refresh of what goes together waits too, and its failures are its own`() async throws {
        let gate = RefreshGate()
        let now = Timestamp(seconds: 1_000)
        #expect(await gate.enter("a", now: now) { false } == .refresh)
        let follower = Task { await gate.enter("b", now: now) { false } }
        try await eventually("it waits") { gate.waitingCount == 1 }
        gate.finish(.failed, now: now)
        #expect(await follower.value == .again)
        #expect(await gate.enter("a", now: now) { false } == .failedLately)
        #expect(await gate.enter("b", now: now) { false } == .refresh)
    }

    // MARK: What is sent

    @Test func `parameters are sent as JSON or as a form`() throws {
        let values = VariableValues(["secret": .init("a\"&b")])
        var rule = RefreshRule()
        rule.json = [
            RefreshParameter(name: "user", value: Secret("anna")),
            RefreshParameter(name: "key", value: Secret([.text("<"), .variable("secret"), .text(">")])),
            RefreshParameter(name: "ttl", value: Secret("3600"), isLiteral: true),
        ]
        let json = try #require(rule.content(values))
        #expect(String(decoding: json.octets, as: UTF8.self) == #"{"user":"anna","key":"\u003ca\"&b>","ttl":3600}"#)
        #expect(json.type == "application/json")
        rule.form = rule.json
        rule.json = []
        let form = try #require(rule.content(values))
        #expect(String(decoding: form.octets, as: UTF8.self) == "user=anna&key=%3Ca%22%26b%3E&ttl=3600")
        #expect(form.type == "application/x-www-form-urlencoded")
        #expect(RefreshRule().content(values) == nil)
    }

    // MARK: What comes back

    static let answers: [(String, String, String?)] = [
        (#"{"access_token":"x"}"#, "/access_token", "x"), (#"{"a":{"b":["x","y"]}}"#, "/a/b/1", "y"),
        (#"{"a/b~c":"x"}"#, "/a~1b~0c", "x"), (#"{"expires":3600}"#, "/expires", "3600"),
        (#"{"a":{}}"#, "/a", nil), (#"{"a":null}"#, "/a", nil), (#"{"a":["x"]}"#, "/a/1", nil),
        (#"{"a":["x"]}"#, "/a/-", nil), (#"{"a":""}"#, "/a", nil), (#"{"a":"x\r\ny"}"#, "/a", nil), ("[", "/a", nil),
    ]

    @Test(arguments: answers) func `a value is found where the pointer leads`(
        _ content: String, _ pointer: String, _ value: String?
    ) {
        var rule = RefreshRule()
        rule.store = [RefreshTarget(variable: "token", pointer: JSONPointer(pointer)!)]
        let found = try? rule.values(in: Array(content.utf8)).get().first?.value.reveal()
        #expect(found == value)
    }

    // MARK: Variables

    @Test func `what was renewed a moment ago is not renewed again, by whichever service`() async {
        let store = VariableStore()
        var settings = VariableSettings()
        settings.name = "token"
        let now = Timestamp(seconds: 1_000)
        store.declare([settings], at: now)
        #expect(!store.wereRenewedLately(["token"], at: now))
        #expect(await store.renew([("token", Secret("x"))], asOf: store.values, at: now))
        #expect(store.wereRenewedLately(["token"], at: now + .milliseconds(999)))
        #expect(!store.wereRenewedLately(["token"], at: now + .seconds(1)))
        await store.set([("token", Secret("y"))], at: now)
        #expect(!store.wereRenewedLately(["token"], at: now))
    }

    @Test func `a change can be waited for until a configuration has it`() async throws {
        let store = VariableStore()
        store.declare([], at: Timestamp(seconds: 1))
        let isOver = Lock(false)
        let waiting = Task {
            await store.changesApply()
            isOver.withLock { $0 = true }
        }
        try await eventually("it waits") { store.waitingCount == 1 }
        #expect(!isOver.withLock { $0 })
        store.applied()
        await waiting.value
        await store.changesApply()
    }

    @Test func `a value goes with its source, and one that was set by hand stays`() async {
        let store = VariableStore()
        func variable(_ initial: String?) -> VariableSettings {
            var settings = VariableSettings()
            settings.name = "token"
            settings.initial = initial.map { Secret($0) }
            return settings
        }
        let now = Timestamp(seconds: 1)
        store.declare([variable("anna's")], at: now)
        #expect(store.values["token"] == "anna's")
        store.declare([variable(nil)], at: now)
        #expect(store.values["token"] == nil)
        store.declare([variable("bob's")], at: now)
        await store.set([("token", Secret("carl's"))], at: now)
        store.declare([variable(nil)], at: now)
        #expect(store.values["token"] == "carl's")
    }

    @Test func `a variable's value is told by nothing that prints it`() async {
        let store = VariableStore()
        var settings = VariableSettings()
        settings.name = "token"
        settings.initial = Secret("hush")
        store.declare([settings], at: Timestamp(seconds: 1))
        var shown = ""
        dump(store.reports, to: &shown)
        dump(settings, to: &shown)
        dump(Secret([.variable("token"), .text("hush")]), to: &shown)
        #expect(!shown.contains("hush"))
        #expect(store.values["token"] == "hush")
        #expect(await store.set([("token", Secret("hush")), ("other", Secret("x"))], at: Timestamp(seconds: 2)) == [])
        #expect(await store.set([("token", Secret("new"))], at: Timestamp(seconds: 2)) == ["token"])
        #expect(store.values.generation(of: ["token"]) == 2)
    }
}
