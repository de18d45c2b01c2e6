// SPDX-License-Identifier: Apache-2.0

/// A hash table of replies: four neighbouring slots for each, in a table that grows with its contents.
///
/// A slot contains the hash, so that only the memory of matching replies is read.
struct ReplyTable<Answer: AnyObject> {
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
    ///   - size: the initial number of slots; a power of two, as `largest` is.
    ///   - largest: the largest number of slots.
    init(size: Int = 1 << 10, largest: Int = 1 << 18) {
        self.largest = largest
        places = Array(repeating: Place(), count: size)
    }

    var size: Int { places.count }

    subscript(place: Int) -> Answer? { places[place].answer }

    /// The reply stored under `hash`.
    func find(_ hash: UInt64) -> Answer? {
        let first = first(of: hash)
        for place in first..<first + ReplyTable.width where places[place].hash == hash { return places[place].answer }
        return nil
    }

    /// A slot for a reply, possibly the slot of a replaceable reply; nil while all candidates are in use.
    mutating func place(for hash: UInt64, where mayGo: (Answer) -> Bool) -> Int? {
        if count > places.count / 2, places.count < largest { grow() }
        let candidates = first(of: hash)..<first(of: hash) + ReplyTable.width
        return candidates.first { places[$0].hash == hash }
            ?? candidates.first { places[$0].answer == nil }
            ?? candidates.first { places[$0].answer.map(mayGo) == true }
    }

    /// Puts a reply into an empty slot.
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

    /// The next slot to be searched for room, and the next to be swept.
    mutating func advanceHand() -> Int {
        hand = (hand + 1) % places.count
        return hand
    }

    mutating func advanceSweeper() -> Int {
        sweeper = (sweeper + 1) % places.count
        return sweeper
    }

    private func first(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (places.count - 1) & ~(ReplyTable.width - 1)
    }

    /// Doubles the table. Slots are moved, not copied, and no reply's memory is read. The replies of four slots get
    /// eight, so that all have room.
    private mutating func grow() {
        var larger = ReplyTable(size: 2 * places.count, largest: largest)
        for index in places.indices {
            guard let answer = places[index].answer.take() else { continue }
            let hash = places[index].hash
            let first = larger.first(of: hash)
            for place in first..<first + ReplyTable.width where larger.places[place].answer == nil {
                larger.put(answer, hash, at: place)
                break
            }
        }
        self = larger
    }
}
