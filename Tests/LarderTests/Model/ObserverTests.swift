// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("Observers")
struct ObserverTests {
    private let fixture = Fixture()
    private var resource: Resource { fixture.service.resource("a") }

    /// Somebody who owns observers.
    private final class Owner: Sendable {}

    /// An observer without identity, unless it is given one.
    private struct Note: ResourceObserver {
        let recorder: EventRecorder
        var name: String?
        var observerIdentity: ObserverIdentity? { name.map { ObserverIdentity($0) } }
        func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
            recorder.resourceChanged(resource, event, state)
        }
        func stoppedObserving(_ resource: Resource) { recorder.stoppedObserving(resource) }
    }

    /// An observer whose program looks at the resource wherever it is asked anything.
    private final class Looking: ResourceObserver {
        let resource: Resource
        init(at resource: Resource) { self.resource = resource }
        deinit { _ = resource.latestData }
        var observerIdentity: ObserverIdentity? {
            _ = resource.latestData
            return ObserverIdentity("looking")
        }
        func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {}
    }

    @Test func `OB-09 an observer that another one removes is not told of the event that is being told`() {
        let resource = resource
        let (first, second) = (Owner(), Owner())
        let told = Recorder<String>()
        resource.addObserver(owner: first) { resource, event in
            if event == .newData(.localOverride) { resource.removeObservers(ownedBy: second) }
        }
        resource.addObserver(owner: second) { _, event in told("\(event)") }
        resource.overrideLocalData(with: .text("x"))
        #expect(told.values == ["observerAdded"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `an observer may look at the resource when it is identified, and when it goes`() {
        let resource = resource
        let owner = Owner()
        do {
            let observer = Looking(at: resource)
            resource.addObserver(observer, owner: owner).addObserver(observer)
        }
        resource.removeObservers(ownedBy: owner)
        resource.overrideLocalData(with: .text("x"))
        #expect(!resource.memory.hasInterest)
        resource.addObserver(Looking(at: resource), owner: owner)
        resource.removeObservers(ownedBy: owner)
        #expect(!resource.memory.hasInterest)
    }

    @Test func `OB-01 an observer that owns itself is held weakly and added once`() {
        let resource = resource
        weak var released: EventRecorder?
        do {
            let recorder = EventRecorder()
            released = recorder
            resource.addObserver(recorder).addObserver(recorder)
            #expect(recorder.events == ["observerAdded"])
            #expect(resource.memory.hasInterest)
        }
        #expect(released == nil)
        resource.overrideLocalData(with: .text("x"))
        #expect(!resource.memory.hasInterest)
    }

    @Test func `OB-02 an observer with an owner is held as long as the owner lives`() {
        let resource = resource
        let told = EventRecorder()
        weak var observer: EventRecorder?
        weak var owner: Owner?
        do {
            let living = Owner()
            owner = living
            do {
                let recorder = EventRecorder()
                observer = recorder
                resource.addObserver(recorder, owner: living).addObserver(told, owner: living)
            }
            for text in ["x", "y"] {
                resource.overrideLocalData(with: .text(text))
                fixture.service.flushUnusedResources()
            }
            let heard = ["observerAdded", "newData(localOverride)", "newData(localOverride)"]
            #expect(observer?.events == heard)
            #expect(told.events == heard)
            #expect(resource.memory.hasInterest)
            withExtendedLifetime(living) {}
        }
        // The observers do not hold their owner.
        #expect(owner == nil)
        resource.overrideLocalData(with: .text("z"))
        #expect(observer == nil)
        #expect(told.events.count == 3)
        #expect(!resource.memory.hasInterest)
    }

    @Test func `OB-03 closures are never taken for each other`() {
        let calls = Recorder<ResourceEvent>()
        let owner = Owner()
        for _ in 0..<2 { resource.addObserver(owner: owner) { _, event in calls(event) } }
        resource.overrideLocalData(with: .text("x"))
        #expect(calls.values == [.observerAdded, .observerAdded, .newData(.localOverride), .newData(.localOverride)])
    }

    @Test func `OB-04 observerAdded is told to the new one each time it is added`() {
        let first = EventRecorder()
        let second = EventRecorder()
        resource.addObserver(first).addObserver(second)
        #expect(first.events == ["observerAdded"])
        #expect(second.events == ["observerAdded"])
        resource.removeObservers(ownedBy: second)
        resource.addObserver(second)
        #expect(second.events == ["observerAdded", "observerAdded"])
        #expect(first.events.count == 1)
    }

    @Test func `OB-05 each event comes with the state it left`() async {
        let (resource, recorder) = fixture.observed("a")
        fixture.reply("a", .text("x"), .text("oops", status: 500), .text("y"))
        for _ in 0..<3 {
            fixture.clock.advance(by: .seconds(1))
            _ = await resource.load().response()
        }
        resource.wipe()
        #expect(
            recorder.events == [
                "observerAdded", "requested loading", "newData(network)", "requested loading", "error",
                "requested loading",
                "newData(network)", "newData(wipe)",
            ])
        #expect(recorder.states.map(\.text) == ["", "", "x", "x", "x", "x", "y", ""])
        #expect(recorder.states.map { $0.latestError?.status } == [nil, nil, nil, nil, 500, 500, nil, nil])
        #expect(recorder.states.map { $0.timestamp?.seconds } == [nil, nil, 1_001, 1_001, 1_002, 1_002, 1_003, nil])
        #expect(recorder.states.map(\.sequence) == [0, 1, 2, 3, 4, 5, 6, 7])
    }

    @Test func `OB-06 an owner can be removed and nil is ignored`() {
        let owner = Owner()
        let recorder = EventRecorder()
        resource.addObserver(recorder, owner: owner)
        resource.removeObservers(ownedBy: nil)
        resource.removeObservers(ownedBy: Owner())
        #expect(recorder.stops == 0)
        resource.removeObservers(ownedBy: owner)
        resource.overrideLocalData(with: .text("x"))
        #expect(recorder.events == ["observerAdded"])
        #expect(recorder.stops == 1)
    }

    @Test func `OB-07 an observer stays while any of its owners does`() {
        let (first, second) = (Owner(), Owner())
        let recorder = EventRecorder()
        resource.addObserver(recorder, owner: first).addObserver(recorder, owner: second).addObserver(recorder)
        #expect(recorder.events == ["observerAdded"])
        resource.removeObservers(ownedBy: first)
        resource.removeObservers(ownedBy: recorder)
        #expect(recorder.stops == 0)
        resource.removeObservers(ownedBy: second)
        #expect(recorder.stops == 1)
    }

    #if !SANITIZED  // The address sanitizer keeps freed addresses unused.
        @Test func `OB-07 a new owner counts even where a dead one was before`() {
            let fixture = Fixture()
            let resource = fixture.service.resource("a")
            let recorder = EventRecorder()
            // Objects of one class are soon put where one was before: enough tries, and the address is the same.
            var addresses: Set<ObjectIdentifier> = []
            var wasReused = false
            for _ in 0..<1_000 where !wasReused {
                let owner = Owner()
                wasReused = !addresses.insert(ObjectIdentifier(owner)).inserted
                resource.addObserver(recorder, owner: owner)
                guard wasReused else { continue }
                recorder.reset()
                resource.overrideLocalData(with: .text("x"))
                #expect(recorder.events == ["newData(localOverride)"])
                withExtendedLifetime(owner) {}
            }
            #expect(wasReused)
        }
    #endif

    @Test func `OB-07 one owner can have many observers`() {
        let owner = Owner()
        let recorders = (0..<3).map { _ in EventRecorder() }
        for recorder in recorders { resource.addObserver(recorder, owner: owner) }
        resource.removeObservers(ownedBy: owner)
        #expect(recorders.map(\.stops) == [1, 1, 1])
        #expect(!resource.memory.hasInterest)
    }

    @Test func `OB-07 a self-owned observer is kept by another owner`() {
        let owner = Owner()
        weak var observer: EventRecorder?
        do {
            let recorder = EventRecorder()
            observer = recorder
            resource.addObserver(recorder).addObserver(recorder, owner: owner)
        }
        resource.overrideLocalData(with: .text("x"))
        #expect(observer?.events.count == 2)
    }

    @Test func `OB-08 stoppedObserving is called when an owner has gone but not for one who has`() {
        let resource = resource
        let recorder = EventRecorder()
        do {
            let owner = Owner()
            resource.addObserver(recorder, owner: owner)
        }
        resource.overrideLocalData(with: .text("x"))
        #expect(recorder.stops == 1)
        #expect(recorder.events == ["observerAdded"])
        resource.addObserver(recorder)
        resource.removeObservers(ownedBy: recorder)
        #expect(recorder.stops == 2)
        resource.removeObservers(ownedBy: recorder)
        #expect(recorder.stops == 2)
    }

    @Test func `OB-09 a value can say what makes it the same`() {
        let owner = Owner()
        let recorder = EventRecorder()
        resource.addObserver(Note(recorder: recorder, name: "one"), owner: owner)
            .addObserver(Note(recorder: recorder, name: "one"), owner: owner)
        #expect(recorder.events == ["observerAdded"])
        resource.addObserver(Note(recorder: recorder, name: "two"), owner: owner)
            .addObserver(Note(recorder: recorder), owner: owner).addObserver(Note(recorder: recorder), owner: owner)
        #expect(recorder.events.count == 4)
    }

    @Test func `OB-10 an observed resource stays and goes when it is not observed`() {
        let owner = Owner()
        weak var observed: Resource?
        do {
            let resource = fixture.service.resource("kept")
            observed = resource
            resource.addObserver(owner: owner) { _, _ in }
        }
        // By either way that others go.
        fixture.service.cachedResourceCountLimit = 10
        for number in 0..<100 { _ = fixture.service.resource("other\(number)") }
        fixture.service.flushUnusedResources()
        #expect(fixture.service.resourceCount == 1)
        #expect(observed != nil && fixture.service.resource("kept") === observed)
        withExtendedLifetime(owner) { observed?.removeObservers(ownedBy: owner) }
        fixture.service.flushUnusedResources()
        #expect(observed == nil)
        #expect(fixture.service.resourceCount == 0)
    }

    @Test func `OB-10 a resource stays as long as an owner of its observers lives, and shows what it had`() async {
        fixture.reply("kept", .text("data"))
        weak var observed: Resource?
        var owner: Owner? = Owner()
        do {
            let resource = fixture.service.resource("kept")
            observed = resource
            if let owner { resource.addObserver(owner: owner) { _, _ in } }
            _ = await resource.load().response()
        }
        fixture.service.flushUnusedResources()
        withExtendedLifetime(owner) { #expect(fixture.service.resource("kept").text == "data") }
        owner = nil
        fixture.service.flushUnusedResources()
        #expect(observed == nil)
    }

    @Test func `OB-11 B-31 events can be iterated and end with the task`() async {
        fixture.reply("a", .text("x"))
        let resource = resource
        let events = resource.events()
        let seen = Recorder<String>()
        let task = Task {
            for await update in events { seen("\(update.event) \(update.state.text)") }
        }
        _ = await resource.load().response()
        while seen.count < 3 { await Task.yield() }
        #expect(seen.values == ["observerAdded ", "requested ", "newData(network) x"])
        #expect(resource.memory.hasInterest)
        task.cancel()
        await task.value
        #expect(!resource.memory.hasInterest)
    }

    @Test func `OB-11 an observation ends with its token`() {
        let resource = resource
        let seen = Recorder<ResourceEvent>()
        do {
            let token = resource.observe { _, event in seen(event) }
            resource.overrideLocalData(with: .text("x"))
            withExtendedLifetime(token) {}
        }
        resource.overrideLocalData(with: .text("y"))
        #expect(seen.values == [.observerAdded, .newData(.localOverride)])
        #expect(!resource.memory.hasInterest)
    }

    @Test func `B-38 observers are told in the order they were added and an event is told to all before the next`() {
        let resource = resource
        let order = Recorder<String>()
        let owner = Owner()
        resource.addObserver(owner: owner) { resource, event in
            order("1 \(event)")
            if event == .newData(.localOverride), resource.text == "x" { resource.overrideLocalData(with: .text("y")) }
        }
        resource.addObserver(owner: owner) { _, event in order("2 \(event)") }
        resource.overrideLocalData(with: .text("x"))
        #expect(
            order.values == [
                "1 observerAdded", "2 observerAdded", "1 newData(localOverride)", "2 newData(localOverride)",
                "1 newData(localOverride)", "2 newData(localOverride)",
            ])
    }

    @Test func `OB-04 an observer added while an event is told does not get that event`() {
        let resource = resource
        let late = EventRecorder()
        let owner = Owner()
        resource.addObserver(owner: owner) { resource, event in
            if event == .newData(.localOverride) { resource.addObserver(late) }
        }
        resource.overrideLocalData(with: .text("x"))
        #expect(late.events == ["observerAdded"])
    }

    @Test func `B-21 events of changes from many threads come in order and none is lost`() async {
        let resource = resource
        let recorder = EventRecorder()
        resource.addObserver(recorder)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { for step in 0..<250 { resource.overrideLocalContent(with: "\(number)-\(step)") } }
            }
        }
        while recorder.states.count < 2_001 { await Task.yield() }
        #expect(recorder.states.map(\.sequence) == Array(0...2_000))
        #expect(recorder.states.last?.text == resource.text)
    }

    @Test func `OB-12 five thousand observers and five hundred hooks each hear everything once`() async {
        let resource = resource
        let calls = Recorder<Int>()
        let owner = Owner()
        let heard = Recorder<Int>()
        for _ in 0..<5_000 { resource.addObserver(owner: owner) { _, _ in heard(1) } }
        for _ in 0..<10 { resource.overrideLocalData(with: .text("x")) }
        let request = resource.hardWiredRequest(returning: ResponseInfo(.success(.text("x"))))
        for _ in 0..<500 { request.onCompletion { _ in calls(1) } }
        _ = await request.response()
        #expect(calls.count == 500)
        // Each was told that it observes, and of each of the ten changes.
        #expect(heard.count == 5_000 * 11)
        resource.removeObservers(ownedBy: owner)
        #expect(!resource.memory.hasInterest)
    }
}
