// SPDX-License-Identifier: Apache-2.0

import Larder
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
    private var timer: Timer?

    init(_ sharedLoad: SharedLoad, _ context: LoopContext) {
        self.sharedLoad = sharedLoad
        self.context = context
        patience = Patience(Int64.zero.advanced(by: context.configuration.settings.timeouts.write))
    }

    /// A wait for the slowest reader begins. The result ends it.
    func hold() -> () -> Void {
        begun = context.loop.monotonicHere()
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
        if sharedLoad.giveUpSlow() { patience.gaveUp() }
        // It may go on: others are slow as well, or on their way to read.
        if timer != nil { arm() }
    }
}

/// How long readers hold back others who wait behind them: for no longer than a reader at a certain pace would take, and
/// `timeouts.write` beyond that; those who are slow after them for half of it, and so on. So it is less than twice that in
/// all, however many they are; and a reader who keeps the pace is never given up, whatever the others do.
///
/// In nanoseconds.
struct Patience {
    /// Octets in a second.
    static let pace: Int64 = 256 << 10
    /// The time that the longest window takes at that pace; allowed for shorter ones, too, as packets may be late.
    static let grace = Duration.seconds(1)

    /// How long they may still be slower than the pace.
    private(set) var left: Int64
    /// How long it was at first, this time.
    private var share: Int64

    init(_ limit: Int64) {
        share = limit
        left = limit
    }

    /// After how long a wait readers are given up who take nothing meanwhile.
    var wait: Int64 { left.advanced(by: Self.grace) }

    /// Others have waited while so many octets were taken.
    mutating func waited(_ time: Int64, for octets: Int64) {
        // More than an hour's is as good as an hour's.
        let earned = min(octets, Self.pace * 3600) * (1_000_000_000 / Self.pace)
        left = min(share, max(0, left - time + earned))
    }

    /// Readers were given up.
    mutating func gaveUp() {
        share /= 2
        left = share
    }

    /// Nobody is held back any more.
    mutating func restore() { left = share }
}
