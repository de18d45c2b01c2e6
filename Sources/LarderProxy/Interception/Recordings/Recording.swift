// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// The requests of one run of a command and what answered them, in the order in which they ended.
///
/// It is kept apart from the cache: nothing of it expires, is revalidated or makes room for anything else.
package final class Recording: Sendable {
    private struct State {
        var exchanges: [RecordedExchange] = []
        /// Where exchanges with a key are, in their order.
        var places: [RecordingKey: [Int]] = [:]
        var octets = 0
        var omitted = 0
    }

    /// What a recording holds in memory at most, and the longest content of one message in it.
    package static let limit = 256 << 20
    package static let contentLimit = 32 << 20

    package let name: String
    private let state = Lock(State())

    package init(name: String, _ exchanges: [RecordedExchange] = []) {
        self.name = name
        for exchange in exchanges { add(exchange) }
    }

    /// Keeps an exchange. One that there is no room for is counted among the omitted.
    package func add(_ exchange: RecordedExchange) {
        let key = exchange.key
        state.withLock { state in
            guard state.octets + exchange.size <= Recording.limit else {
                state.omitted += 1
                return
            }
            state.octets += exchange.size
            state.places[key, default: []].append(state.exchanges.count)
            state.exchanges.append(exchange)
        }
    }

    /// Counts an exchange that cannot be kept.
    func omit() { state.withLock { $0.omitted += 1 } }

    package var exchanges: [RecordedExchange] { state.withLock { $0.exchanges } }
    package var count: Int { state.withLock { $0.exchanges.count } }
    package var octets: Int { state.withLock { $0.octets } }
    /// Exchanges that are not in it although they happened.
    package var omitted: Int { state.withLock { $0.omitted } }

    /// The `turn`th exchange with that key, or the last if there were not so many.
    func exchange(_ key: RecordingKey, turn: Int) -> RecordedExchange? {
        state.withLock { state in
            guard let places = state.places[key], let last = places.last else { return nil }
            return state.exchanges[turn < places.count ? places[turn] : last]
        }
    }

    /// Whether that may be what a recording is called: it is also the name of a file.
    package static func isName(_ text: String) -> Bool {
        (1...80).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.first != UInt8(ascii: "-")
            && text.utf8.allSatisfy { octet in
                switch octet {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// A recording that answers a lane's requests. What was asked several times is answered in the same order.
package final class Replay: Sendable {
    private let recording: Recording
    private let turns = Lock<[RecordingKey: Int]>([:])

    package init(_ recording: Recording) { self.recording = recording }

    package var name: String { recording.name }
    package var count: Int { recording.count }

    /// What answers a request; nil if nothing like it was recorded. A recording from elsewhere has had its secrets
    /// taken out, so a request is also looked for without its own.
    func answer(
        to method: String, _ url: String, range: String?, content: [UInt8], type: String?
    ) -> RecordedExchange? {
        let key = RecordingKey(method: method, url: url, range: range, content: content)
        if let found = next(key) { return found }
        let scrubbed = RecordingKey(
            method: method, url: SecretText.scrubbed(url: url), range: range,
            content: SecretText.scrubbed(content, type: type))
        return scrubbed == key ? nil : next(scrubbed)
    }

    private func next(_ key: RecordingKey) -> RecordedExchange? {
        let turn = turns.withLock { turns in
            defer { turns[key, default: 0] += 1 }
            return turns[key] ?? 0
        }
        return recording.exchange(key, turn: turn)
    }
}
