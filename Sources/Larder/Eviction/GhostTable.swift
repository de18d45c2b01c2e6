// SPDX-License-Identifier: Apache-2.0

/// The hashes of recently evicted entries, in eight octets each.
///
/// A place holds half of a hash and the number of its insertion; those that are too old count as forgotten and are
/// overwritten. Two hashes may collide, once in many millions: the answer must decide no more than a preference.
package struct GhostTable {
    private struct Place {
        var tag: UInt32 = 0
        /// The number of the insertion; 0 in an empty place.
        var number: UInt32 = 0
    }

    private static let groupCount = 4
    private var places: [Place] = []
    private var latest: UInt32 = 0

    package init() {}

    /// Octets of memory this takes.
    package var bytes: Int { places.capacity * MemoryLayout<Place>.stride }

    /// Remembers a hash.
    ///
    /// - Parameter span: how many hashes to remember; the table grows to that size.
    package mutating func insert(_ hash: UInt64, among span: Int) {
        if places.isEmpty || span > places.count { grow(for: span) }
        latest &+= 1
        if latest == 0 { latest = 1 }
        put(Place(tag: GhostTable.tag(hash), number: latest))
    }

    /// Whether a hash was among the last `span` that were inserted; it is then forgotten.
    package mutating func take(_ hash: UInt64, among span: Int) -> Bool {
        guard !places.isEmpty else { return false }
        let tag = GhostTable.tag(hash)
        for index in group(of: tag) where places[index].tag == tag && places[index].number != 0 {
            let age = latest &- places[index].number
            places[index] = Place()
            return age < UInt32(clamping: span)
        }
        return false
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

    private mutating func grow(for span: Int) {
        let old = places
        var size = max(old.count, 16)
        while size < span + span / 4 { size *= 2 }
        places = [Place](repeating: Place(), count: size)
        for place in old where place.number != 0 { put(place) }
    }
}
