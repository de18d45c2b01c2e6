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
    /// Octets so far.
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
