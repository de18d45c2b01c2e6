// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderStores

/// Distributes the content of one response: to the readers of its shared load, and to memory and store within their limits.
/// Confined to the loop of its load.
final class ContentSink {
    private let sharedLoad: SharedLoad
    private let context: LoopContext
    /// Nil when the response is not written to the store, or no more.
    private(set) var writer: EntityWriter?
    /// The same, and one that takes no more: at the end of the response it removes what was to be replaced.
    let begun: EntityWriter?
    private var retains: Bool
    /// Bytes so far.
    private(set) var total: Int64 = 0
    /// Most loads have nobody who is waited for.
    private lazy var patience = ReaderPatience(sharedLoad, context)

    init(_ sharedLoad: SharedLoad, _ context: LoopContext, writer: EntityWriter?, keepsInMemory: Bool) {
        self.sharedLoad = sharedLoad
        self.context = context
        self.writer = writer
        begun = writer
        retains = keepsInMemory && sharedLoad.isRetaining
    }

    /// Passes content that was received earlier to the readers; the store has it already.
    func give(_ early: [ContentChunk]) async {
        for chunk in early {
            total += Int64(chunk.count)
            await pass(chunk)
        }
    }

    /// Passes a chunk to the readers, and returns when there is room for another.
    private func pass(_ chunk: ContentChunk) async {
        sharedLoad.append(chunk)
        // Other loads may leave no room for it.
        retains = retains && sharedLoad.isRetaining
        await sharedLoad.room(hold)
    }

    private func hold() -> () -> Void { patience.hold() }

    enum Taking { case asBefore, tooLong }

    /// Distributes a chunk, and returns when there is room for another; `.tooLong` once, when the content is no longer
    /// kept anywhere.
    @discardableResult
    func take(_ chunk: ContentChunk) async -> Taking {
        var taking = Taking.asBefore
        total += Int64(chunk.count)
        // Before the content is dropped from memory in favour of the writer.
        await leaveIfAbandoned()
        if retains, total > Int64(context.memoryObjectLimit) {
            retains = false
            sharedLoad.stopRetaining()
            if writer == nil { taking = .tooLong }
        }
        if writer != nil, total > context.storedObjectLimit {
            if !retains { taking = .tooLong }
            await dropWriter()
        }
        if let slow = writer, !retains, await !keepsPace(slow) {
            await sharedLoad.retireSpool(hold)
            slow.giveUp()
            writer = nil
        }
        writer?.append(chunk)
        await leaveIfAbandoned()
        await pass(chunk)
        return taking
    }

    private func leaveIfAbandoned() async {
        if let writer, case .abandoned = writer.state { await dropWriter() }
    }

    /// Drops a writer that takes no more. Slow readers get what it has first.
    private func dropWriter() async {
        if retains {
            // Nobody is behind what memory has.
            sharedLoad.dropSpool()
        } else {
            await sharedLoad.retireSpool(hold)
        }
        writer?.abort()
        writer = nil
    }

    /// Gives a slow store a moment to catch up. If it does not, slow readers throttle the load instead of reading from
    /// disk: otherwise the store would run full, and they would lose their position. Where there are such readers, it is
    /// longer: other loads give up their writers meanwhile, while here one who reads nothing would hold back the rest.
    private func keepsPace(_ writer: EntityWriter) async -> Bool {
        guard let diskTier = context.diskTier else { return true }
        var turns = sharedLoad.needsSpool ? 2500 : 50
        while diskTier.isBehind, case .open = writer.state, turns > 0 {
            turns -= 1
            await context.sleep(for: .milliseconds(2))
        }
        return !diskTier.isBehind
    }
}

/// Has readers of a load given up that hold back the others for too long, as `Patience` decides. Confined to the loop of
/// its load.
final class ReaderPatience {
    private let sharedLoad: SharedLoad
    private let context: LoopContext
    private var patience: Patience
    /// When the wait began, and how much had been received by then, or when that was last counted.
    private var begun: Int64 = 0
    private var received: Int64 = 0
    /// How many readers had left by then.
    private var former = 0
    private var timer: Timer?

    init(_ sharedLoad: SharedLoad, _ context: LoopContext) {
        self.sharedLoad = sharedLoad
        self.context = context
        patience = Patience(Int64.zero.advanced(by: context.configuration.settings.timeouts.write))
    }

    /// A wait for the slowest reader begins. The result ends it.
    func hold() -> () -> Void {
        begun = context.loop.monotonicHere()
        let former = sharedLoad.formerReaders
        if former != self.former { patience.forgive() }
        self.former = former
        arm()
        return { [self] in
            timer?.cancel()
            timer = nil
            spend()
            // One that reads alone holds back nobody.
            if !sharedLoad.isForSeveral { patience.restore() }
        }
    }

    private func spend() {
        let (now, total) = (context.loop.monotonicHere(), sharedLoad.received)
        patience.waited(now - begun, for: total - received)
        (begun, received) = (now, total)
    }

    private func arm() {
        timer = context.loop.timerHere(after: .nanoseconds(patience.wait)) { [weak self] in self?.expired() }
    }

    private func expired() {
        spend()
        // It may go on: others are slow as well, or on their way to read.
        if patience.isOver { if sharedLoad.giveUpSlow() { patience.gaveUp() } else { patience.forgive() } }
        if timer != nil { arm() }
    }
}

/// How long readers hold back others who wait behind them: for no longer than a reader at a certain pace would take, and
/// `timeouts.write` beyond that; those who are slow after them for half of it, and so on, down to a second. So it is
/// less than twice that in all, and two seconds for each. A reader who keeps the pace is not given up, whatever the others
/// do; but for one that is far behind when the disk takes no more, as nothing comes for anybody until it has caught up.
///
/// In nanoseconds.
struct Patience {
    /// Bytes in a second.
    static let pace: Int64 = 256 << 10
    /// The time that the longest window takes at that pace: who keeps it may be late by as much.
    static let grace = Duration.seconds(1)

    /// How long they may still be slower than the pace; below zero, how late those are who read now.
    private(set) var left: Int64
    /// How long it was at first, this time.
    private var share: Int64

    init(_ limit: Int64) {
        share = limit
        left = limit
    }

    /// After how long a wait readers are given up who take nothing meanwhile.
    var wait: Int64 { left.advanced(by: Self.grace) }

    /// True if they are given up.
    var isOver: Bool { wait <= 0 }

    /// Others have waited while so many bytes were taken.
    mutating func waited(_ time: Int64, for octets: Int64) {
        // More than an hour's is as good as an hour's.
        let earned = min(octets, Self.pace * 3600) * 1_000_000_000 / Self.pace
        left = min(share, max(-Self.grace.wholeNanoseconds, left - time + earned))
    }

    /// The late reader may have left, or cannot be given up: the others may be late once more.
    mutating func forgive() { left = max(left, 0) }

    /// Readers were given up.
    mutating func gaveUp() {
        share = max(share / 2, min(share, Self.grace.wholeNanoseconds))
        left = share
    }

    /// Nobody is held back any more.
    mutating func restore() { left = share }
}
