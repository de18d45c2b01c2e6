// SPDX-License-Identifier: Apache-2.0

/// The hashes of recently evicted entries, each with a trace of its entry.
///
/// A place holds half of a hash and the number of its insertion. Places that are too old count as forgotten and are
/// overwritten. Two hashes may collide, once in many millions. So the answer must decide no more than a preference, or
/// the trace must identify the entry.
struct GhostTable<Trace: BitwiseCopyable> {
    private struct Place {
        var tag: UInt32 = 0
        /// The number of the insertion; 0 in an empty place, whose trace is any.
        var number: UInt32 = 0
        var trace: Trace
    }

    private static var groupCount: Int { 4 }
    private var places: [Place] = []
    private var latest: UInt32 = 0

    init() {}

    /// Bytes of memory this takes.
    var bytes: Int { places.capacity * MemoryLayout<Place>.stride }

    /// Bytes of memory that a place takes.
    static var octetsOfPlace: Int { MemoryLayout<Place>.stride }

    /// Remembers a hash.
    ///
    /// - Parameter span: how many hashes to remember; the table grows to that size.
    mutating func insert(_ hash: UInt64, _ trace: Trace, among span: Int) {
        if places.isEmpty || span + span / 4 > places.count { grow(for: span, filler: trace) }
        latest &+= 1
        if latest == 0 { latest = 1 }
        put(Place(tag: GhostTable.tag(hash), number: latest, trace: trace))
    }

    /// The trace of a hash, if that was among the last `span` that were inserted.
    func trace(of hash: UInt64, among span: Int) -> Trace? {
        place(of: hash, among: span).map { places[$0].trace }
    }

    /// Returns the trace of a hash, if the table remembers it, and forgets the hash.
    mutating func take(_ hash: UInt64, among span: Int) -> Trace? {
        guard let place = place(of: hash, among: span) else { return nil }
        places[place].number = 0
        return places[place].trace
    }

    private func place(of hash: UInt64, among span: Int) -> Int? {
        guard !places.isEmpty else { return nil }
        let tag = GhostTable.tag(hash)
        return group(of: tag).first { index in
            let place = places[index]
            return place.tag == tag && place.number != 0 && latest &- place.number < UInt32(clamping: span)
        }
    }

    /// The bits that alone choose neither the shards of the registry nor the places in a table.
    private static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 24 ^ hash) }

    private func group(of tag: UInt32) -> Range<Int> {
        let start = (Int(tag) * GhostTable.groupCount) & (places.count - 1)
        return start..<start + GhostTable.groupCount
    }

    /// Stores it in its existing place, or else replaces the oldest one of its group.
    private mutating func put(_ place: Place) {
        var oldest = -1
        var longest: UInt32 = 0
        for index in group(of: place.tag) {
            if places[index].number == 0 || places[index].tag == place.tag {
                places[index] = place
                return
            }
            let age = place.number &- places[index].number
            if oldest < 0 || age > longest { (oldest, longest) = (index, age) }
        }
        places[oldest] = place
    }

    private mutating func grow(for span: Int, filler: Trace) {
        let old = places
        var size = max(old.count, 16)
        while size < span + span / 4 { size *= 2 }
        places = [Place](repeating: Place(trace: filler), count: size)
        for place in old where place.number != 0 { put(place) }
    }
}

/// The hashes of recently evicted entries, in eight bytes each.
package struct GhostSet {
    private struct NoTrace: BitwiseCopyable {}

    private var table = GhostTable<NoTrace>()

    package init() {}

    /// Bytes of memory this takes.
    package var bytes: Int { table.bytes }

    /// Remembers a hash.
    ///
    /// - Parameter span: how many hashes to remember; the set grows to that size.
    package mutating func insert(_ hash: UInt64, among span: Int) { table.insert(hash, NoTrace(), among: span) }

    /// True if a hash was among the last `span` that were inserted; it is then forgotten.
    package mutating func take(_ hash: UInt64, among span: Int) -> Bool { table.take(hash, among: span) != nil }
}
