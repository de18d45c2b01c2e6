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
        var reader = EventStreamReader()
        let connection = try attempt { () throws(PlainStream.Failure) in
            let connection = try connect(seconds: AdminClient.streamPatience, mayUseTCP: true)
            let request =
                "GET \(target) HTTP/1.0\r\nHost: \(connection.host)\r\nAccept: text/event-stream\r\n\r\n"
            try connection.send(Array(request.utf8))
            return connection
        }
        while true {
            let octets = try attempt { () throws(PlainStream.Failure) in try connection.receive() }
            guard !octets.isEmpty else { break }
            for event in try reader.read(octets) where try !tell(event) { return }
        }
        if let answer = reader.refusal {
            do {
                _ = try AdminAnswer(answer).successfulContent()
            } catch let failure as CommandFailure {
                throw StreamEnd.refused(failure)
            }
        }
        throw StreamEnd.broken(CommandFailure("the daemon has ended the stream"))
    }

    private func attempt<Value: ~Copyable>(_ body: () throws(PlainStream.Failure) -> Value) throws(StreamEnd) -> Value {
        do throws(PlainStream.Failure) {
            return try body()
        } catch {
            throw .broken(failure(error))
        }
    }
}

/// Extracts the data of events from a response that is an event stream (HTML, Server-sent events), as Larder writes it.
struct EventStreamReader {
    /// The head as received so far; nil once it is complete.
    private var head: [UInt8]? = []
    private var status: Int?
    /// The octets of an incomplete event.
    private var rest: [UInt8] = []
    /// The whole response, where it is not a stream.
    private var refused: [UInt8] = []

    /// The size limit of one event; it contains the state of at most a thousand resources.
    static let eventLimit = 64 << 20

    /// The response as received, where it is not an event stream; nil where it is.
    var refusal: [UInt8]? { status == 200 ? nil : refused }

    /// Reads more octets; returns the data of the events that are complete now.
    mutating func read(_ octets: [UInt8]) throws(StreamEnd) -> [String] {
        var octets = octets[...]
        if status != 200 { refused += octets }
        if var head {
            head += octets
            guard let end = head.firstRange(of: Array("\r\n\r\n".utf8)) else {
                try check(head.count, 64 << 10)
                self.head = head
                return []
            }
            let words = String(decoding: head.prefix { $0 != 0x0D }, as: UTF8.self).split(separator: " ")
            status = words.count > 1 && words[0].hasPrefix("HTTP/1.") ? Int(words[1]) : nil
            octets = head[end.upperBound...]
            self.head = nil
            if status == 200 { refused = [] }
        }
        guard status == 200 else {
            try check(refused.count, 1 << 20)
            return []
        }
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
        try check(rest.count, EventStreamReader.eventLimit)
        return events
    }

    private func check(_ count: Int, _ limit: Int) throws(StreamEnd) {
        if count > limit {
            throw .refused(CommandFailure("what answers is not a Larder daemon", advice: "see its log"))
        }
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

    /// Whether this is the first attempt since an event arrived.
    var isFirst: Bool { tries == 1 }
}
