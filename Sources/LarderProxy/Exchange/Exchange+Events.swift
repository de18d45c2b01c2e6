// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO

extension Exchange {
    /// A line without an event, to show that the stream is alive.
    private static let heartbeat = ContentChunk(": \n\n".utf8)

    /// Answers with an event stream, until the client leaves or Larder stops.
    func send(_ events: OwnEvents) async throws {
        finishHead(length: nil)
        guard delivery != .none else { return try await sendHead() }
        guard let subscriber = connection.clients.events.subscribe(to: events.subject) else {
            isPersistent = false
            try await sendHead()
            return try await endContent()
        }
        stream.onPeerClosed = { subscriber.end() }
        defer {
            stream.onPeerClosed = nil
            connection.clients.events.leave(subscriber)
        }
        if stream.isPeerClosed { throw ClientGone() }
        try await sendHead()
        if let job = events.whenSubscribed { context.spawn(job) }
        while true {
            switch await subscriber.next() {
            case .snapshot: try await sendContent([await connection.clients.events.snapshot(for: subscriber)])
            case .events(let chunks): try await sendContent(chunks)
            case .heartbeat: try await sendContent([Exchange.heartbeat])
            case .gone: throw ClientGone()
            case .ending:
                isPersistent = false
                try await sendContent([ContentChunk(events.subject.text.farewell)])
                return try await endContent()
            }
        }
    }
}
