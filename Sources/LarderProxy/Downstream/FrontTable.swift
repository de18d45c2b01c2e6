// SPDX-License-Identifier: Apache-2.0

/// Answers found by a hash: four neighbouring places for each, in a table that grows with what it holds.
///
/// A place tells by the hash alone whether another answer is meant, so that only the right one's memory is looked at.
struct FrontTable<Answer: AnyObject> {
    private struct Place {
        var hash: UInt64 = 0
        var answer: Answer?
    }

    private var places: [Place]
    private(set) var count = 0
    private var hand = 0
    private var sweeper = 0
    private let largest: Int

    private static var width: Int { 4 }

    /// - Parameters:
    ///   - size: how many places there are at first; a power of two, as `largest` is.
    ///   - largest: how many there may become.
    init(size: Int = 1 << 10, largest: Int = 1 << 18) {
        self.largest = largest
        places = Array(repeating: Place(), count: size)
    }

    var size: Int { places.count }

    subscript(place: Int) -> Answer? { places[place].answer }

    /// The answer that was put here under `hash`.
    func find(_ hash: UInt64) -> Answer? {
        let first = first(of: hash)
        for place in first..<first + FrontTable.width where places[place].hash == hash { return places[place].answer }
        return nil
    }

    /// Where an answer may be put, in place of one that may go; nil while all that could be there are in use.
    mutating func place(for hash: UInt64, where mayGo: (Answer) -> Bool) -> Int? {
        if count > places.count / 2, places.count < largest { grow() }
        let candidates = first(of: hash)..<first(of: hash) + FrontTable.width
        return candidates.first { places[$0].hash == hash }
            ?? candidates.first { places[$0].answer == nil }
            ?? candidates.first { places[$0].answer.map(mayGo) == true }
    }

    /// Puts an answer into an empty place.
    mutating func put(_ answer: Answer, _ hash: UInt64, at place: Int) {
        places[place] = Place(hash: hash, answer: answer)
        count += 1
    }

    mutating func remove(at place: Int) -> Answer? {
        guard let answer = places[place].answer.take() else { return nil }
        places[place].hash = 0
        count -= 1
        return answer
    }

    /// The next place to be looked at for room, and the next to be looked at for what is out of date.
    mutating func advanceHand() -> Int {
        hand = (hand + 1) % places.count
        return hand
    }

    mutating func advanceSweeper() -> Int {
        sweeper = (sweeper + 1) % places.count
        return sweeper
    }

    private func first(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (places.count - 1) & ~(FrontTable.width - 1)
    }

    /// Doubles the table. Places are moved, not copied: no answer's memory is touched. What was in four places is in
    /// eight afterwards, so that all have room.
    private mutating func grow() {
        var larger = FrontTable(size: 2 * places.count, largest: largest)
        for index in places.indices {
            guard let answer = places[index].answer.take() else { continue }
            let hash = places[index].hash
            let first = larger.first(of: hash)
            for place in first..<first + FrontTable.width where larger.places[place].answer == nil {
                larger.put(answer, hash, at: place)
                break
            }
        }
        self = larger
    }
}
