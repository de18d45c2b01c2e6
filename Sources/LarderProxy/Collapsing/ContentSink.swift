// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderStores

/// Where the content of one response goes: to the readers of its flight, and to memory and store as long as it is not
/// too long for them. Confined to the loop of its load.
final class ContentSink {
    private let flight: Flight
    private let context: LoopContext
    /// What the store takes it with; nil when it does not.
    private(set) var writer: EntityWriter?
    private var retains: Bool
    /// Octets so far.
    private(set) var total: Int64 = 0

    init(_ flight: Flight, _ context: LoopContext, writer: EntityWriter?, keepsInMemory: Bool) {
        self.flight = flight
        self.context = context
        self.writer = writer
        retains = keepsInMemory && flight.isRetaining
    }

    /// Gives the readers content that came before there was this; the store has it already.
    func give(_ early: [ContentChunk]) async {
        for chunk in early {
            total += Int64(chunk.count)
            flight.append(chunk)
            await flight.room()
        }
    }

    enum Taking { case asBefore, tooLong }

    /// Gives everyone a chunk, and returns when there is room for another; `.tooLong` once, when nothing keeps the
    /// content any more.
    @discardableResult
    func take(_ chunk: ContentChunk) async -> Taking {
        var taking = Taking.asBefore
        total += Int64(chunk.count)
        // Before content leaves memory for it.
        leaveIfAbandoned()
        if retains, total > Int64(context.memoryObjectLimit) {
            retains = false
            flight.stopRetaining()
            if writer == nil { taking = .tooLong }
        }
        if let growing = writer, total > context.storedObjectLimit {
            if !retains { await flight.retireSpool() }
            growing.abort()
            writer = nil
            taking = .tooLong
        }
        if let slow = writer, !retains, await !keepsPace(slow) {
            await flight.retireSpool()
            slow.giveUp()
            writer = nil
        }
        writer?.append(chunk)
        leaveIfAbandoned()
        flight.append(chunk)
        // There may be no room for it beside other loads.
        retains = retains && flight.isRetaining
        await flight.room()
        return taking
    }

    /// Does without a writer that has given up: nobody must rely on reading back from it.
    private func leaveIfAbandoned() {
        guard let writer, case .abandoned = writer.state else { return }
        flight.dropSpool()
        self.writer = nil
    }

    /// Gives a store that fell behind a moment to catch up. When it does not, slow readers have to hold the load back
    /// instead of reading what is on disk: going on, the store would run full, and with it goes their place.
    private func keepsPace(_ writer: EntityWriter) async -> Bool {
        guard let storing = context.storing else { return true }
        var patience = 50
        while storing.isBehind, case .open = writer.state, patience > 0 {
            patience -= 1
            await context.sleep(for: .milliseconds(2))
        }
        return !storing.isBehind
    }
}
