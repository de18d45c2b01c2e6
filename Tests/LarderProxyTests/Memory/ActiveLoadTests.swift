// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderTesting
import Testing

@testable import Larder

@Suite("A load under way")
struct ActiveLoadTests {
    private let departures = Recorder<Int>()
    private let cancellations = Recorder<Bool>()

    func load(hasClient: Bool = true) -> ActiveLoad {
        ActiveLoad(
            request: RequestHead(), at: Timestamp(seconds: 1000), isValidation: false, isJoinable: true, window: 8,
            hasClient: hasClient
        ) { [departures, cancellations] _, reason in
            switch reason {
            case .abandon(let departure): departures(departure)
            case .cancel: cancellations(true)
            }
        }
    }

    // MARK: Sharing

    @Test func `it is private until a second client joins`() {
        let load = load()
        #expect(load.shared == nil)
        #expect(load.interest == 1)
        #expect(load.retain())
        #expect(load.shared != nil)
        #expect(load.interest == 2)
        #expect(load.share() === load.shared)
    }

    @Test func `a client that joins gets everything, and so does the first, which reads later`() async {
        let load = load()
        #expect(load.retain())
        let shared = load.share()
        let second = shared.read()
        shared.conclude(SharedLoadTests.answer(), .init(), content: [ContentChunk("all".utf8)])
        #expect(await SharedLoadTests.readAll(shared, second) == "all.")
        load.leave(second)
        #expect(await SharedLoadTests.readAll(shared, shared.read(isFirst: true)) == "all.")
    }

    @Test func `what is shared without a client keeps nothing for one`() async {
        let shared = load(hasClient: false).share()
        shared.announce(SharedLoadTests.answer())
        for _ in 0..<10 {
            shared.append(ContentChunk("12345678".utf8))
            await shared.room()
        }
        #expect(!shared.retain())
    }

    @Test func `many threads share it once`() async {
        let load = load()
        let shared = await withTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<16 { group.addTask { ObjectIdentifier(load.share()) } }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(shared == [ObjectIdentifier(load.share())])
    }

    // MARK: Being cancelled

    @Test func `a reader that is alone cancels it, and nobody joins any more`() {
        let load = load(hasClient: false)
        #expect(load.retain())
        let reader = load.share().read()
        #expect(load.retain())
        #expect(!load.cancelIfLast(reader) && load.isJoinable)
        load.leave(load.share().read())
        #expect(cancellations.count == 0)
        #expect(load.cancelIfLast(reader))
        #expect(cancellations.count == 1 && !load.isJoinable && !load.retain())
    }

    @Test func `one that is cancelled for all is for nobody who comes later`() {
        let load = load()
        load.cancel()
        #expect(load.isOutdated && !load.isJoinable)
    }

    // MARK: Being left

    @Test func `its first client abandons it, private or shared, unless another reads`() {
        let left = load()
        left.forgo()
        #expect(departures.values == [1])
        #expect(left.interest == 0)
        let kept = load()
        #expect(kept.retain())
        kept.forgo()
        #expect(departures.values == [1])
        kept.leave(kept.share().read())
        #expect(departures.values == [1, 1])
    }

    @Test func `who joins after the first client has left keeps it`() {
        let load = load()
        load.forgo()
        #expect(load.retain())
        #expect(!load.closeIfAbandoned(since: 1))
        #expect(load.isJoinable)
    }

    @Test func `the last reader to leave a running load abandons it`() {
        let load = load()
        #expect(load.retain())
        let first = load.share().read()
        load.leave(first)
        #expect(departures.count == 0)
        let second = load.share().read()
        #expect(load.interest == 1)
        load.leave(second)
        load.leave(second)
        #expect(departures.values == [1])
    }

    @Test func `a load that nobody reads is closed once, and nobody joins it then`() {
        let load = load()
        let reader = load.share().read()
        #expect(!load.closeIfAbandoned(since: 0))
        #expect(load.retain())
        load.leave(reader)
        // Somebody is about to read.
        #expect(!load.closeIfAbandoned(since: 0))
        load.leave(load.share().read())
        #expect(load.isJoinable)
        #expect(load.closeIfAbandoned(since: 1))
        #expect(!load.isJoinable)
        #expect(!load.retain())
    }

    @Test func `a load is not closed by a departure before the last`() {
        let load = load()
        load.leave(load.share().read())
        #expect(load.retain())
        load.leave(load.share().read())
        #expect(departures.values == [1, 2])
        #expect(!load.closeIfAbandoned(since: 1))
        #expect(load.isJoinable)
        #expect(load.closeIfAbandoned(since: 2))
    }

    @Test func `a load that is over cannot be abandoned`() {
        let load = load()
        let reader = load.share().read()
        load.share().announce(SharedLoadTests.answer())
        load.share().finish(trailers: Fields())
        load.leave(reader)
        #expect(departures.count == 0)
    }

    @Test func `a private load can be cancelled`() {
        let load = load()
        load.cancel()
        #expect(cancellations.count == 1)
        #expect(load.shared == nil)
    }
}
