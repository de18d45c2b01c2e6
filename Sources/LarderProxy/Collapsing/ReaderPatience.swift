// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings

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
    /// Octets in a second.
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

    /// Whether they are given up.
    var isOver: Bool { wait <= 0 }

    /// Others have waited while so many octets were taken.
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
