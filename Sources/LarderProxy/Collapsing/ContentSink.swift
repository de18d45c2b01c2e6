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
    /// Nil if the response is not, or no longer, written to the store.
    private(set) var writer: EntityWriter?
    /// The initial `writer`, even if it was dropped: at the end of the response it removes the entity to be replaced.
    let begun: EntityWriter?
    private var retains: Bool
    /// The number of bytes received so far.
    private(set) var total: Int64 = 0
    /// Created on demand: most loads never wait for a reader.
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

    /// Drops a writer that accepts no more content. Slow readers first receive the content that it has.
    private func dropWriter() async {
        if retains {
            // The position of every reader is within the content in memory.
            sharedLoad.dropSpool()
        } else {
            await sharedLoad.retireSpool(hold)
        }
        writer?.abort()
        writer = nil
    }

    /// Waits briefly for a slow store to catch up. If it does not, slow readers throttle the load instead of reading
    /// from disk: otherwise the store would run full, and they would lose their position. With such readers the wait is
    /// longer: other loads give up their writers meanwhile, while here a stalled reader would hold back the rest.
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

/// Gives up readers of a load that hold back the other readers for too long, as `Patience` decides. Confined to the
/// loop of its load.
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
            // A reader that is alone holds back no other reader.
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

/// The time for which readers may hold back others: the time that a reader at `pace` needs, and `timeouts.write` beyond
/// that. Readers that are slow after them get half of that limit, and so on, down to a second. The sum is less than
/// twice the limit, and two seconds for each reader. A reader that keeps the pace is not given up because of others,
/// except when the disk accepts no more and the reader is far behind: no reader gets content until it has caught up.
///
/// All times are in nanoseconds.
struct Patience {
    /// Bytes in a second.
    static let pace: Int64 = 256 << 10
    /// The time that the longest window takes at that pace: who keeps it may be late by as much.
    static let grace = Duration.seconds(1)

    /// The remaining time for which readers may be slower than the pace; below zero, the lag of the current readers.
    private(set) var left: Int64
    /// The value that `left` started from since readers were last given up.
    private var share: Int64

    init(_ limit: Int64) {
        share = limit
        left = limit
    }

    /// The length of a wait after which readers that read nothing are given up.
    var wait: Int64 { left.advanced(by: Self.grace) }

    /// True if the late readers are given up.
    var isOver: Bool { wait <= 0 }

    /// Other readers have waited for `time` while `octets` bytes were read.
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

    /// Restores the full time when readers are no longer held back.
    mutating func restore() { left = share }
}
