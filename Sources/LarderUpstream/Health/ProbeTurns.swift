// SPDX-License-Identifier: Apache-2.0

/// The requests that ask an origin which is otherwise left alone: which others may follow them before an interval is over.
///
/// A request that is not answered speaks for its URL, and a little for its client: if it decided alone, the client that
/// asks most often could keep the origin from all others. So a request for another URL follows after an eighth of the
/// interval, and one of another client after a quarter of that. In each interval these are few. Instants are monotonic
/// nanoseconds.
struct ProbeTurns: Equatable {
    /// The properties of a request that matter here, as digests.
    struct Asker: Equatable {
        /// The URL.
        var place = 0
        /// The digest of the client's address; 0 for Larder, which has one probe in an interval.
        var client = 0
        /// True if the request is sent before its time if possible.
        var bypassesBackoff = false
        /// True if the client has yet to send some of its content, and with that decides how long it takes.
        var lacksContent = false
    }

    private struct Turn: Equatable {
        enum Outcome {
            case failed
            case withdrawn
        }

        let number: Int
        let asker: Asker
        let at: Int64
        /// Nil while it is under way.
        var outcome: Outcome?
    }

    /// How many turns there are in an interval; as many again are for clients that have had none.
    static let limit = 8
    /// The part of the time between two turns that a client waits which has had none.
    private static let newcomer: Int64 = 4
    /// How many times as many turns there are for a while when an origin that could not be reached can be.
    private static let hurry: Int64 = 4

    private var turns: [Turn] = []
    private var interval: Int64 = 0
    /// When anyone may begin anew.
    private(set) var until: Int64 = .min
    /// Until when there are more turns; nil while the origin has not been reached.
    private var hurriesUntil: Int64?

    var isUnderWay: Bool { turns.contains { $0.outcome == nil } }
    var hasFailed: Bool { turns.contains { $0.outcome == .failed } }

    func contains(_ number: Int?) -> Bool { turns.contains { $0.number == number } }

    /// The instant until which a request waits; nil if the request may be a probe now.
    func heldUntil(_ asker: Asker, now: Int64) -> Int64? {
        guard now < until, let last = turns.last else { return nil }
        let isNew = !turns.contains { $0.asker.client == asker.client }
        let count = turns.count { $0.at >= until - interval }
        let limit = Int64(Self.limit) * (hurriesUntil.map { now < $0 } == true ? Self.hurry : 1)
        guard count < (isNew ? 2 : 1) * limit, isNew || asker.client != 0 else { return until }
        let pace = interval / limit
        var next = last.at + (isNew ? pace / Self.newcomer : pace)
        for turn in turns where !isNew && turn.asker.place == asker.place {
            // One that was given up may be repeated, but others come first.
            next = max(next, turn.outcome == .withdrawn ? turn.at + 2 * pace : until)
        }
        next = min(next, until)
        return now < next ? next : nil
    }

    /// Gives a request that is not held its turn.
    mutating func take(_ number: Int, _ asker: Asker, now: Int64, interval: Int64) {
        if now >= until || turns.isEmpty {
            turns = []
            self.interval = interval
            until = now + interval
        }
        turns.append(Turn(number: number, asker: asker, at: now))
    }

    /// The request failed: the next interval, a longer one, begins with the first that does.
    mutating func failed(_ number: Int, now: Int64, interval: Int64) {
        if !hasFailed {
            self.interval = interval
            until = now + interval
        }
        end(number, .failed)
    }

    /// An origin that could not be reached can be: that something has changed is more likely. Once for each outage.
    mutating func reached(until end: Int64) { hurriesUntil = hurriesUntil ?? end }

    mutating func withdrawn(_ number: Int) { end(number, .withdrawn) }

    /// The request's turn counts no more.
    mutating func forget(_ number: Int?) { turns.removeAll { $0.number == number } }

    private mutating func end(_ number: Int, _ outcome: Turn.Outcome) {
        guard let index = turns.firstIndex(where: { $0.number == number }) else { return }
        turns[index].outcome = outcome
    }
}
