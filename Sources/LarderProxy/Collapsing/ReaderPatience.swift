// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import LarderSettings

/// Limits how long slow readers of a load hold back the others: for `timeouts.write`, then those who are slow after them for
/// half of it, and so on. So it is less than twice that in all, however many they are. Confined to the loop of its load.
final class ReaderPatience {
    private let sharedLoad: SharedLoad
    private let context: LoopContext
    /// In nanoseconds, as everything here: how long until readers are given up. Each octet that a slow reader takes begins its
    /// own deadline for writing anew, but not this.
    private var left: Int64
    /// How long it was at first, this time.
    private var share: Int64
    private var begun: Int64 = 0
    private var timer: Timer?

    init(_ sharedLoad: SharedLoad, _ context: LoopContext) {
        self.sharedLoad = sharedLoad
        self.context = context
        share = Int64.zero.advanced(by: context.configuration.settings.timeouts.write)
        left = share
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
            if !sharedLoad.isForSeveral { left = share }
        }
    }

    private func spend() {
        let now = context.loop.monotonicHere()
        left = max(0, left - (now - begun))
        begun = now
    }

    private func arm() {
        // Nobody is given up while others are on their way to read: that is soon over.
        let wait = max(left, share / 16, 1_000_000)
        timer = context.loop.timerHere(after: .nanoseconds(wait)) { [weak self] in self?.expired() }
    }

    private func expired() {
        spend()
        if sharedLoad.giveUpSlow() {
            share /= 2
            left = share
        }
        // It may go on: others are slow as well.
        if timer != nil { arm() }
    }
}
