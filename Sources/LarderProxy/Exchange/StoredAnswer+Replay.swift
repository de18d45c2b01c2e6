// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import LarderRules

/// Stored streams of events that are sent at the pace at which they came.
extension StoredAnswer {
    /// The pace at which the whole content is sent; nil for at once.
    var pace: StreamPace? { lookup.configuration.replaysPaced ? variant.pace : nil }

    /// Sends head and content. Octets that are due wait for a slow client as any others do; it gets the octets that have
    /// become due meanwhile as fast as it takes them.
    func replay(_ cursor: ContentCursor, _ pace: StreamPace) async throws {
        guard writer.delivery != .none else { return try await writer.sendHead() }
        let pause = Pause(on: context.loop)
        try watch.start(whileAwaiting: .pause(pause))
        defer { watch.stop() }
        let beganAt = context.loop.monotonicHere()
        var sent: Int64 = 0
        for step in pace.steps {
            let now = context.loop.monotonicHere()
            let rest = step.due - .nanoseconds(now - beganAt)
            if rest > .zero {
                try await writer.sendHead()
                let isThere = await pause.wait(for: rest)
                writer.record.pauses += context.loop.monotonicHere() - now
                guard isThere else { throw ClientGone() }
            }
            try await send(cursor, sent..<step.end)
            sent = step.end
        }
        try await send(cursor, sent..<cursor.length)
    }
}
