// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP

/// Why an event stream ended.
enum StreamEnd: Error {
    /// The daemon refuses it, and will again.
    case refused(CommandFailure)
    /// There is no daemon, or it has ended.
    case broken(CommandFailure)
}

extension AdminClient {
    /// How long a stream may be silent: four heartbeats.
    private static let streamPatience = 60

    /// Requests an event stream and passes the data of each event to `tell`, until the stream ends or `tell` returns
    /// false.
    func follow(_ target: String, tell: (String) throws -> Bool) throws {
        var response = try attempt { () throws(PlainStream.Failure) in
            let stream = try connect(seconds: AdminClient.streamPatience, mayUseTCP: true)
            try stream.send("GET", target, ["Accept: text/event-stream"])
            return try PlainResponse(on: stream)
        }
        guard response.head.status == 200 else {
            let answer = try attempt { () throws(PlainStream.Failure) in try response.answer(limit: 1 << 20) }
            do {
                _ = try answer.successfulContent()
            } catch let failure as CommandFailure {
                throw StreamEnd.refused(failure)
            }
            throw StreamEnd.refused(AdminClient.noDaemon)
        }
        var reader = EventStreamReader()
        while true {
            let octets = try attempt { () throws(PlainStream.Failure) in try response.receive() }
            guard !octets.isEmpty else { break }
            for event in try reader.read(octets) where try !tell(event) { return }
        }
        throw StreamEnd.broken(CommandFailure("the daemon has ended the stream"))
    }

    private func attempt<Value: ~Copyable>(_ body: () throws(PlainStream.Failure) -> Value) throws(StreamEnd) -> Value {
        do throws(PlainStream.Failure) {
            return try body()
        } catch .endedEarly {
            throw .broken(CommandFailure("the daemon has ended the stream"))
        } catch .malformed {
            throw .refused(AdminClient.noDaemon)
        } catch {
            throw .broken(failure(error))
        }
    }
}

/// Extracts the data of events from the content of an event stream (HTML, Server-sent events), as Larder writes it.
struct EventStreamReader {
    /// The bytes of an incomplete event.
    private var rest: [UInt8] = []

    /// The size limit of one event; it contains the state of at most a thousand resources.
    static let eventLimit = 64 << 20

    /// Reads more bytes; returns the data of the events that are complete now.
    mutating func read(_ octets: [UInt8]) throws(StreamEnd) -> [String] {
        // A line end may have arrived in two halves.
        var searched = max(0, rest.count - 1)
        rest += octets
        var events: [String] = []
        var start = 0
        while let end = rest[searched...].firstRange(of: [0x0A, 0x0A]) {
            let lines = String(decoding: rest[start..<end.lowerBound], as: UTF8.self).split(separator: "\n")
            let data = lines.filter { $0.hasPrefix("data: ") }.map { $0.dropFirst(6) }
            if !data.isEmpty { events.append(data.joined(separator: "\n")) }
            start = end.upperBound
            searched = start
        }
        rest.removeFirst(start)
        guard rest.count <= EventStreamReader.eventLimit else { throw .refused(AdminClient.noDaemon) }
        return events
    }
}

/// How often a broken stream is reopened.
struct Reconnecting {
    private var tries = 0
    private var hasHeard = false

    /// Seconds between tries, a minute in all.
    private static let pauses = [1, 2, 4, 8, 15, 15, 15]

    /// An event arrived: the connection works.
    mutating func hears() {
        tries = 0
        hasHeard = true
    }

    /// Seconds to wait before the next attempt; nil to give up: no event ever arrived, or it has been long.
    mutating func pause() -> Int? {
        guard hasHeard, tries < Reconnecting.pauses.count else { return nil }
        defer { tries += 1 }
        return Reconnecting.pauses[tries]
    }

    /// True if this is the first attempt since an event arrived.
    var isFirst: Bool { tries == 1 }
}
