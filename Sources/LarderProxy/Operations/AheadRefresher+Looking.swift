// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import LarderRules
import Logging

extension AheadRefresher {
    /// Looks at a resource whose time has come, and asks its origin where that is due.
    func look(at entry: AheadQueue.Entry, on context: LoopContext) async {
        guard let found = await AheadLook(entry, on: context) else { return }
        let standing = AheadRefresher.standing(
            found.variant, isObserved: context.proxy.events.isWatched(found.resource),
            uses: AheadRefresher.uses(found.resource.memory, since: entry))
        guard
            let delay = AheadRefresher.delay(found.configuration.refreshAhead, standing, entry.jitter, on: context)
        else { return }
        func again(in delay: Duration) {
            add(found.target, in: delay, vouched: entry.vouched, uses: entry.uses, entry.jitter, on: context)
        }
        if delay > .zero { return again(in: delay) }
        guard !found.isHeld(on: context) else {
            state.withLock { $0.counts.held += 1 }
            return again(in: AheadRefresher.pause)
        }
        do {
            let isReplaced = try await found.refresh(on: context)
            state.withLock { state in
                if isReplaced { state.counts.replaced += 1 } else { state.counts.validated += 1 }
            }
        } catch {
            state.withLock { $0.counts.failed += 1 }
            context.proxy.logger.debug(
                "a resource could not be refreshed ahead",
                metadata: ["url": "\(SecretText.logged(url: found.resource.key.plainURL))", "error": "\(error)"])
        }
        // A load that has stored or confirmed something has noted it.
        if state.withLock({ $0.queue.due(found.target.key) == nil }) { again(in: AheadRefresher.pause) }
    }
}
