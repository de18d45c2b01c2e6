// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
package import LarderIO

/// The requests of one run of a command and their responses, in the order in which they ended.
///
/// It is separate from the cache: its contents never expire, and are neither revalidated nor evicted.
package final class Recording: Sendable {
    private struct State {
        var exchanges: [RecordedExchange] = []
        /// The indexes of the exchanges with a key, in order.
        var places: [RecordingKey: [Int]] = [:]
        var octets = 0
        var values = 0
        var omitted = 0
    }

    /// The most bytes of a recording in memory, and of the content of one message.
    package static let limit = 256 << 20
    package static let contentLimit = 32 << 20
    /// The most JSON values of its archive: some 30,000 requests have as many, and they take 300 MB while they are read.
    package static let valueLimit = 2_000_000

    package let name: String
    private let valueLimit: Int
    private let room: OctetRoom?
    private let state = Lock(State())

    /// - Parameters:
    ///   - omitted: the number of exchanges that happened but are not among these.
    ///   - room: shared with other recordings; nil for a recording that does not grow.
    package init(
        name: String, _ exchanges: [RecordedExchange] = [], omitted: Int = 0, valueLimit: Int = Recording.valueLimit,
        in room: OctetRoom? = nil
    ) {
        self.name = name
        self.valueLimit = valueLimit
        self.room = room
        state.withLock { $0.omitted = omitted }
        for exchange in exchanges { add(exchange) }
    }

    deinit { room?.giveBack(state.withLock { $0.octets }) }

    /// Adds an exchange. If there is no room for it, it is counted among the omitted.
    ///
    /// - Parameter key: its own, if known: that takes a while for long content.
    package func add(_ exchange: RecordedExchange, as key: RecordingKey? = nil) {
        let key = key ?? exchange.key
        state.withLock { state in
            guard state.octets + exchange.size <= Recording.limit,
                state.values + exchange.valueCount <= valueLimit, room?.take(exchange.size) ?? true
            else {
                state.omitted += 1
                return
            }
            state.octets += exchange.size
            state.values += exchange.valueCount
            state.places[key, default: []].append(state.exchanges.count)
            state.exchanges.append(exchange)
        }
    }

    /// Takes room for bytes of an exchange under way, which are given back before it is added. False if there is none.
    func reserve(_ octets: Int) -> Bool { room?.take(octets) ?? true }
    func giveBack(_ octets: Int) { room?.giveBack(octets) }

    /// Counts an exchange that cannot be added.
    func omit() { state.withLock { $0.omitted += 1 } }

    package var exchanges: [RecordedExchange] { state.withLock { $0.exchanges } }
    package var count: Int { state.withLock { $0.exchanges.count } }
    package var octets: Int { state.withLock { $0.octets } }
    /// The number of exchanges that happened but are not in the recording.
    package var omitted: Int { state.withLock { $0.omitted } }

    func contains(_ key: RecordingKey) -> Bool { state.withLock { $0.places[key] != nil } }

    /// The `turn`th exchange with that key, or the last if there are fewer.
    func exchange(_ key: RecordingKey, turn: Int) -> RecordedExchange? {
        state.withLock { state in
            guard let places = state.places[key], let last = places.last else { return nil }
            return state.exchanges[turn < places.count ? places[turn] : last]
        }
    }

    /// True if the text is a valid name of a recording: it is also the name of a file.
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

/// A recording that answers a lane's requests. Repeated requests get their responses in the recorded order.
package final class Replay: Sendable {
    private let recording: Recording
    /// The recording's share of the capacity, released with the replay.
    private let share: OctetRoom.Share?
    let turns = Lock<[RecordingKey: Int]>([:])
    private let lacks = Lock(CountedRequests())

    package init(_ recording: Recording, _ share: OctetRoom.Share? = nil) {
        self.recording = recording
        self.share = share
    }

    package var name: String { recording.name }
    package var count: Int { recording.count }
    /// The requests that were not recorded.
    package var lacking: CountedRequests { lacks.withLock { $0 } }

    /// Counts a request that was not recorded.
    func noteLack(of method: Method, _ url: String) { lacks.withLock { $0.add(method, url) } }

    /// The response to a request; nil if none was recorded. A recording from elsewhere has had its secrets and its
    /// codings removed, so a request is also looked up without its own. That takes a while for long content.
    func answer(to method: String, _ url: String, _ fields: Fields, content: [UInt8]) -> RecordedExchange? {
        let key = RecordingKey(method: method, url: url, range: fields[.range], content: content)
        if let found = next(key) { return found }
        let scrubbed = RecordingKey(
            method: method, url: SecretText.scrubbed(url: url), range: fields[.range],
            content: SecretText.scrubbed(content, of: fields))
        return scrubbed == key ? nil : next(scrubbed)
    }

    /// Turns are counted of what was recorded only: clients may ask for any number of other things.
    private func next(_ key: RecordingKey) -> RecordedExchange? {
        guard recording.contains(key) else { return nil }
        let turn = turns.withLock { turns in
            defer { turns[key, default: 0] += 1 }
            return turns[key] ?? 0
        }
        return recording.exchange(key, turn: turn)
    }
}

/// A number of requests, with the first of them as examples.
package struct CountedRequests: Sendable {
    package private(set) var requests = 0
    /// The first requests without repetitions, as `GET https://…`. Secrets in their URLs are removed.
    package private(set) var first: [String] = []

    private static let limit = 5

    mutating func add(_ method: Method, _ url: String) {
        requests += 1
        guard first.count < CountedRequests.limit else { return }
        let line = String("\(method.token) \(SecretText.scrubbed(url: url))".prefix(300))
        if !first.contains(line) { first.append(line) }
    }
}
