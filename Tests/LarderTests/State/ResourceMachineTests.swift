// SPDX-License-Identifier: Apache-2.0
import Larder
import Testing

@Suite("The state machine of resources")
struct ResourceMachineTests {
    private func entity(_ text: String) -> AnyEntity { .text(text) }

    private var error: RequestError { RequestError(status: 500, timestamp: Timestamp(seconds: 1)) }

    @Test func `a load that is not in progress changes nothing`() {
        var machine = ResourceMachine()
        let (load, _) = machine.loadStarted()
        _ = machine.loadFinished(load, .data(entity("x")))
        #expect(machine.loadFinished(load, .data(entity("y"))).events.isEmpty)
        #expect(machine.latestData?.text == "x")
    }

    @Test func `a silent load is announced while it is in progress`() {
        var machine = ResourceMachine()
        let (load, started) = machine.loadStarted(isSilent: true)
        #expect(started.events.isEmpty)
        #expect(machine.isLoading)
        #expect(machine.loadAnnounced(load).events == [.requested])
        _ = machine.loadFinished(load, .cancelled)
        #expect(machine.loadAnnounced(load).events.isEmpty)
    }

    @Test func `a confirmation of other data changes nothing`() {
        var machine = ResourceMachine()
        _ = machine.overridden(with: entity("x"))
        let version = machine.dataVersion
        let (load, _) = machine.loadStarted()
        _ = machine.overridden(with: entity("y"))
        let transition = machine.loadFinished(load, .notModified(entity("x"), version: version))
        #expect(transition.events == [.notModified])
        #expect(transition.action == nil)
        #expect(machine.latestData?.text == "y")
    }

    @Test func `B-06 a late error of an older load does not hide newer data`() {
        var machine = ResourceMachine()
        let (old, _) = machine.loadStarted()
        let (new, _) = machine.loadStarted()
        _ = machine.loadFinished(new, .data(entity("new")))
        #expect(machine.loadFinished(old, .error(error)).events == [.notModified])
        #expect(machine.latestError == nil)
    }

    @Test func `B-06 a load that waited before it asked is later than one that asked meanwhile`() {
        var machine = ResourceMachine()
        let (waiting, _) = machine.loadStarted()
        let (quick, _) = machine.loadStarted()
        machine.invalidated()
        machine.loadAsks(waiting)
        #expect(machine.isOutdated(quick) && !machine.isOutdated(waiting))
        _ = machine.loadFinished(quick, .data(entity("quick")))
        #expect(machine.isInvalidated)
        #expect(machine.loadFinished(waiting, .data(entity("later"))).events == [.newData(.network)])
        #expect(machine.latestData?.text == "later" && !machine.isInvalidated)
    }

    @Test func `B-06 what clients have got is the latest, whenever it was asked for`() {
        var machine = ResourceMachine()
        let (first, _) = machine.loadStarted()
        let (second, _) = machine.loadStarted()
        _ = machine.loadFinished(second, .data(entity("passed")))
        #expect(machine.loadFinished(first, .data(entity("landed"), isLanded: true)).action == .store)
        #expect(machine.latestData?.text == "landed")
        let (third, _) = machine.loadStarted()
        #expect(machine.loadFinished(third, .superseded).events == [.notModified])
        #expect(machine.latestData?.text == "landed" && !machine.isLoading)
    }

    @Test func `B-12 a cache check that was begun before a wipe has no result`() {
        var machine = ResourceMachine()
        let first = machine.cacheCheckStarted(hasCaches: true)
        #expect(machine.cacheCheckStarted(hasCaches: true) == nil)
        _ = machine.wiped()
        let second = machine.cacheCheckStarted(hasCaches: true)
        #expect(first != second)
        #expect(!machine.cacheCheckFinished(first!, entity("old")).isTaken)
        #expect(machine.cacheCheck == .running(second!))
        #expect(machine.cacheCheckFinished(second!, entity("new")).isTaken)
        #expect(machine.cacheCheck == .done)
    }

    @Test func `whatever happens in whatever order the state stays consistent`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            var machine = ResourceMachine()
            var running: [LoadID] = []
            var check: UInt64?
            var newest: LoadID?
            for step in 0..<40 {
                let before = machine
                switch Int.random(in: 0..<9, using: &random) {
                case 0, 1:
                    let (load, transition) = machine.loadStarted()
                    running.append(load)
                    #expect(transition.events == [.requested])
                case 2, 3:
                    guard let load = running.randomElement(using: &random) else { continue }
                    running.removeAll { $0 == load }
                    let transition = machine.loadFinished(load, .data(entity("\(step)")))
                    let isTaken = newest.map { load > $0 } ?? true
                    #expect(transition.events == [isTaken ? .newData(.network) : .notModified])
                    #expect((transition.action == .store) == isTaken)
                    #expect(machine.latestData?.text == (isTaken ? "\(step)" : before.latestData?.text))
                    if isTaken { newest = load }
                case 4:
                    guard let load = running.randomElement(using: &random) else { continue }
                    running.removeAll { $0 == load }
                    _ = machine.loadFinished(load, .error(error))
                    #expect(machine.latestData?.text == before.latestData?.text)
                case 5:
                    let transition = machine.overridden(with: entity("local"))
                    #expect(transition.action == .removeStored)
                    #expect(machine.latestData?.isLocalOverride == true)
                    #expect(machine.latestError == nil && !machine.isInvalidated)
                case 6:
                    machine.invalidated()
                    #expect(machine.isInvalidated)
                case 7:
                    let transition = machine.wiped()
                    #expect(transition.events == [.newData(.wipe)] + running.map { _ in .requestCancelled })
                    #expect(machine.latestData == nil && machine.latestError == nil)
                    (running, newest, check) = ([], nil, nil)
                default:
                    if let current = check {
                        let (_, isTaken) = machine.cacheCheckFinished(current, entity("cached"))
                        #expect(isTaken == (before.latestData == nil))
                        check = nil
                    } else {
                        check = machine.cacheCheckStarted(hasCaches: true)
                    }
                }
                #expect(machine.loads == running)
                #expect(machine.isLoading == !running.isEmpty)
                #expect(machine.dataVersion >= before.dataVersion)
            }
        }
    }
}
