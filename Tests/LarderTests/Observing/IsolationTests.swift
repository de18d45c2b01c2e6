// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("On actors")
struct IsolationTests {
    /// A stand-in for a view: it belongs to the main actor and shows what a resource has.
    @MainActor
    private final class Screen: MainActorObserver {
        var shown: [String] = []
        var stops = 0
        /// Called when something has been shown.
        var onChange: (() -> Void)?

        func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
            shown.append("\(event) \(state.text)")
            onChange?()
        }

        func stoppedObserving(_ resource: Resource) { stops += 1 }

        func waits(for count: Int) async {
            while shown.count < count {
                await withCheckedContinuation { continuation in
                    onChange = { [self] in
                        onChange = nil
                        continuation.resume()
                    }
                }
            }
        }
    }

    private actor Counter {
        private(set) var events: [String] = []
        private var waiter: CheckedContinuation<Void, Never>?

        func watch(_ resource: Resource) {
            resource.addObserver(owner: self, isolation: self) { _, event in
                self.events.append("\(event)")
                self.waiter?.resume()
                self.waiter = nil
            }
        }

        func load(_ resource: Resource) {
            resource.load().onSuccess(isolation: self) { entity in
                self.events.append(entity.text)
                self.waiter?.resume()
                self.waiter = nil
            }
        }

        func waits(for count: Int) async {
            while events.count < count { await withCheckedContinuation { waiter = $0 } }
        }
    }

    @Test @MainActor func `OB-01 OB-05 a class of the main actor observes there`() async {
        let fixture = Fixture()
        let resource = fixture.service.resource("a")
        let screen = Screen()
        resource.addObserver(screen).addObserver(screen)
        resource.overrideLocalData(with: .text("one"))
        resource.overrideLocalData(with: .text("two"))
        // The changes were made on the main actor, so each call of its observer came before the change returned.
        #expect(screen.shown == ["observerAdded ", "newData(localOverride) one", "newData(localOverride) two"])
        resource.removeObservers(ownedBy: screen)
        resource.overrideLocalData(with: .text("three"))
        while screen.stops == 0 { await Task.yield() }
        #expect(screen.shown.count == 3)
    }

    @Test @MainActor func `OB-01 an observer of the main actor is held weakly`() {
        let resource = Fixture().service.resource("a")
        weak var gone: Screen?
        do {
            let screen = Screen()
            gone = screen
            resource.addObserver(screen)
        }
        #expect(gone == nil)
    }

    @Test func `OB-03 closures run on the actor they are added from`() async {
        let fixture = Fixture()
        let resource = fixture.service.resource("a")
        let counter = Counter()
        await counter.watch(resource)
        for number in 0..<100 { resource.overrideLocalData(with: .text("\(number)")) }
        await counter.waits(for: 101)
        #expect(await counter.events.count { $0 == "newData(localOverride)" } == 100)
    }

    /// Observes as its own owner, without anything that refers to it strongly.
    private actor Brief {
        private var events = 0

        func watch(_ resource: Resource, _ told: Recorder<String>) {
            resource.addObserver(owner: self, isolation: self) { [weak self] _, event in
                self?.assumeIsolated { $0.events += 1 }
                told("\(event)")
            }
        }

        func watch(_ resource: Resource, owner: Owner, _ told: Recorder<String>) {
            resource.addObserver(owner: owner, isolation: self) { _, event in told("\(event)") }
        }
    }

    @Test func `OB-10 an actor that observes as its own owner exists no longer for it`() async {
        let resource = Fixture().service.resource("a")
        let (told, last) = (Recorder<String>(), Counter())
        weak var gone: Brief?
        do {
            let brief = Brief()
            gone = brief
            await brief.watch(resource, told)
            resource.overrideLocalData(with: .text("one"))
            while told.count < 2 { await Task.yield() }
        }
        // The task that made the calls may be about to let go of it.
        while gone != nil { await Task.yield() }
        resource.overrideLocalData(with: .text("two"))
        #expect(!resource.memory.hasInterest)
        // Told behind all that was on its way.
        await last.watch(resource)
        await last.waits(for: 1)
        #expect(told.values == ["observerAdded", "newData(localOverride)"])
    }

    @Test func `OB-10 an actor that calls are made on exists as long as another owner does`() async {
        let resource = Fixture().service.resource("a")
        let (owner, told) = (Owner(), Recorder<String>())
        do {
            let brief = Brief()
            await brief.watch(resource, owner: owner, told)
        }
        resource.overrideLocalData(with: .text("one"))
        while told.count < 2 { await Task.yield() }
        #expect(told.values == ["observerAdded", "newData(localOverride)"])
        withExtendedLifetime(owner) {}
    }

    @Test func `RQ-02 hooks run on the actor they are attached from`() async {
        let fixture = Fixture()
        fixture.reply("a", .text("x"))
        let counter = Counter()
        await counter.load(fixture.service.resource("a"))
        await counter.waits(for: 1)
        #expect(await counter.events == ["x"])
    }

    @Test @MainActor func `RQ-02 PG-03 each hook has its form for actors`() async {
        let fixture = Fixture()
        fixture.reply("a", .text("x", [.eTag: "\"1\""]), StubReply(304), StubReply(500))
        var told: [String] = []
        for _ in 0..<3 {
            let request = fixture.service.resource("a").load()
            request.onSuccess(isolation: MainActor.shared) { _ in told.append("success") }
                .onNewData(isolation: MainActor.shared) { _ in told.append("new") }
                .onNotModified(isolation: MainActor.shared) { told.append("same") }
                .onFailure(isolation: MainActor.shared) { _ in told.append("failure") }
            await withCheckedContinuation { continuation in
                request.onCompletion(isolation: MainActor.shared) { _ in
                    told.append("end")
                    continuation.resume()
                }
            }
        }
        #expect(told == ["success", "new", "end", "success", "same", "end", "failure", "end"])
    }

    @Test func `OB-11 states and contents can be iterated`() async {
        let fixture = Fixture()
        let resource = fixture.service.resource("a")
        resource.overrideLocalData(with: .text("before"))
        var contents = resource.contents(of: String.self).makeAsyncIterator()
        #expect(await contents.next() == "before")
        resource.invalidate()
        resource.overrideLocalContent(with: 5)
        resource.overrideLocalContent(with: "after")
        #expect(await contents.next() == "after")
        var states = resource.states().makeAsyncIterator()
        #expect(await states.next()?.text == "after")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let load = resource.load()
        #expect(await states.next()?.isLoading == true)
        held.release(.text("loaded"))
        await load.response()
        #expect(await states.next()?.text == "loaded")
        #expect(await contents.next() == "loaded")
        #expect(await resource.typed(as: String.self).contents().first { _ in true } == "loaded")
    }

    #if !SANITIZED  // The address sanitizer keeps freed addresses unused.
        @Test @MainActor func `OB-01 a screen in the place of one that is gone is told of its observation`()
            async throws
        {
            let resource = Fixture().service.resource("a")
            resource.overrideLocalData(with: .text("one"))
            var former: ObjectIdentifier?
            for _ in 0..<1_000 {
                let screen = Screen()
                resource.addObserver(screen)
                if ObjectIdentifier(screen) == former {
                    await screen.waits(for: 1)
                    #expect(screen.shown == ["observerAdded one"])
                    return
                }
                former = ObjectIdentifier(screen)
            }
            Issue.record("no address was used again")
        }
    #endif

    @Test(arguments: [false, true]) @MainActor
    func `OB-02 a screen that owns itself and has another owner lives as long as either`(isOwnFirst: Bool) {
        let resource = Fixture().service.resource("a")
        var owner: Owner? = Owner()
        weak var gone: Screen?
        do {
            let screen = Screen()
            gone = screen
            if isOwnFirst { resource.addObserver(screen) }
            resource.addObserver(screen, owner: owner!)
            if !isOwnFirst { resource.addObserver(screen) }
        }
        #expect(gone != nil)
        owner = nil
        resource.cancelLoadIfUnobserved()
        #expect(gone == nil)
    }

    private final class Owner: Sendable {}

    /// Makes a change that belongs to no actor: observers of the main actor are called some time after it.
    private nonisolated func changeElsewhere(_ resource: Resource) { resource.overrideLocalData(with: .text("one")) }

    @Test(arguments: [false, true]) @MainActor
    func `OB-06 nobody is called on an actor after they were removed there`(isClosure: Bool) async {
        let fixture = Fixture()
        let (resource, other) = (fixture.service.resource("a"), fixture.service.resource("b"))
        let (screen, last) = (Screen(), Screen())
        var calls = 0
        if isClosure {
            resource.addObserver(owner: screen, isolation: MainActor.shared) { _, _ in calls += 1 }
        } else {
            resource.addObserver(screen)
        }
        changeElsewhere(resource)
        resource.removeObservers(ownedBy: screen)
        // Told behind all that was on its way.
        other.addObserver(last)
        await last.waits(for: 1)
        #expect(calls == 0 && screen.shown.isEmpty)
        if !isClosure { while screen.stops == 0 { await Task.yield() } }
    }
}
