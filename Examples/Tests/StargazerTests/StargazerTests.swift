// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import StargazerKit
import Testing

@Suite("Users of GitHub")
struct StargazerTests {
    private let transport = StubTransport()
    private let clock = ManualClock()

    private let github: GitHub

    init() { github = GitHub(baseURL: "https://github.test", token: "secret", transport: transport) }

    @Test func `a user is decoded and asked for once`() async throws {
        transport.reply("https://github.test/users/ann", .json(#"{"login":"ann","followers":7}"#))
        let user = github.user("ann")
        #expect(try await user.loadIfNeeded().content.login == "ann")
        #expect(try await user.loadIfNeeded().content.followers == 7)
        #expect(transport.sent.map(\.url.path) == ["/users/ann"])
        #expect(transport.sent.first?.fields[.authorization] == "Bearer secret")
    }

    @Test func `what the API says about an error is what people are told`() async {
        transport.reply("https://github.test/users/nobody", .json(#"{"message":"No such user"}"#, status: 404))
        let nobody = github.user("nobody")
        await #expect(throws: RequestError.self) { try await nobody.load() }
        #expect(nobody.base.latestError?.status == 404)
        #expect(nobody.base.latestError?.userMessage == "No such user")
    }

    @Test func `data goes out of date when its time has passed`() async {
        transport.reply("https://github.test/users/ann", .json(#"{"login":"ann","followers":7}"#))
        let service = Service("github", baseURL: "https://github.test", transport: transport, clock: clock)
        service.configure { $0.expirationTime = .seconds(60) }
        let ann = service.resource("users/ann")
        let recorder = EventRecorder()
        ann.addObserver(recorder)
        await ann.loadIfNeeded()?.response()
        #expect(ann.isUpToDate)
        clock.advance(by: .seconds(61))
        #expect(!ann.isUpToDate)
        #expect(recorder.events == ["observerAdded", "requested loading", "newData(network)"])
    }
}
