// SPDX-License-Identifier: Apache-2.0

/// The position of content in a segment: a file that content is appended to, and whose freed parts become holes.
struct SegmentPlace: Hashable, Sendable {
    /// Content begins at multiples of this number, so that all space that it occupies can be freed.
    static let alignment: Int64 = 4 << 10
    /// Bytes; `cache.inlineLimit` is at most this.
    static let longest: Int64 = 1 << 20
    static let segments: ClosedRange<Int64> = 1...1 << 40
    static let offsets: ClosedRange<Int64> = 0...1 << 40

    let segment: Int64
    let offset: Int64
    /// The bytes of the content.
    let length: Int64

    /// Nil for numbers that are never written, so that damaged numbers free no space.
    init?(segment: Int64, offset: Int64, length: Int64) {
        guard Self.segments.contains(segment), Self.offsets.contains(offset), offset % Self.alignment == 0,
            (1...Self.longest).contains(length)
        else { return nil }
        self.segment = segment
        self.offset = offset
        self.length = length
    }

    /// The bytes that it takes on disk.
    var room: Int64 { Self.room(for: length) }

    /// - Parameter length: of content, or of less than 2⁶² bytes.
    static func room(for length: Int64) -> Int64 { (length + alignment - 1) / alignment * alignment }
}

/// A part of a segment that nothing refers to.
struct SegmentGap: Hashable, Sendable {
    let segment: Int64
    var offset: Int64
    var length: Int64

    /// The gaps that freed places leave, neighbours in one.
    static func left(by places: some Sequence<SegmentPlace>) -> [SegmentGap] {
        var gaps: [SegmentGap] = []
        for place in places.sorted(by: { ($0.segment, $0.offset) < ($1.segment, $1.offset) }) {
            if let last = gaps.last, last.segment == place.segment, last.offset + last.length == place.offset {
                gaps[gaps.count - 1].length += place.room
            } else {
                gaps.append(SegmentGap(segment: place.segment, offset: place.offset, length: place.room))
            }
        }
        return gaps
    }

    /// The gaps between places, which are in their order, in a segment of `length` bytes.
    static func between(_ places: [SegmentPlace], in segment: Int64, length: Int64) -> [SegmentGap] {
        var gaps: [SegmentGap] = []
        var end: Int64 = 0
        for place in places {
            if place.offset > end { gaps.append(SegmentGap(segment: segment, offset: end, length: place.offset - end)) }
            end = max(end, place.offset + place.room)
        }
        if end < length { gaps.append(SegmentGap(segment: segment, offset: end, length: length - end)) }
        return gaps
    }
}

/// How much of each segment is in use, and so what is to be given back. It decides; `SegmentWriter` performs.
struct SegmentTable {
    struct Segment {
        /// The bytes that rows refer to.
        var used: Int64 = 0
        /// The length of the file.
        var length: Int64 = 0
    }

    private(set) var segments: [Int64: Segment] = [:]
    /// The segment that is appended to. It stays while it is empty.
    var current: Int64?
    /// True if holes free space. Otherwise a segment is freed once it contains nothing.
    var canPunch = true

    init() {}

    init(_ segments: [Int64: Segment]) { self.segments = segments }

    /// The bytes on disk.
    var occupied: Int64 {
        segments.values.reduce(0) { $0.adding(saturating: canPunch ? $1.used : max($1.used, $1.length)) }
    }

    mutating func store(_ place: SegmentPlace) {
        var segment = segments[place.segment] ?? Segment()
        segment.used = segment.used.adding(saturating: place.room)
        segment.length = max(segment.length, place.offset + place.room)
        segments[place.segment] = segment
    }

    /// The consequences of rows that are gone: segments to remove, and gaps in others.
    mutating func free(_ places: [SegmentPlace]) -> (empty: [Int64], gaps: [SegmentGap]) {
        for place in places {
            guard let used = segments[place.segment]?.used else { continue }
            segments[place.segment]?.used = max(used - place.room, 0)
        }
        // A segment that was not counted may contain anything.
        let empty = Set(places.map(\.segment)).filter { $0 != current && segments[$0]?.used == 0 }.sorted()
        for segment in empty { segments[segment] = nil }
        guard canPunch else { return (empty, []) }
        return (empty, SegmentGap.left(by: places.lazy.filter { !empty.contains($0.segment) }))
    }

    /// Nothing more is appended to the current segment. Returns it if it is to be removed.
    mutating func close() -> Int64? {
        guard let closed = current.take(), segments[closed]?.used ?? 0 == 0 else { return nil }
        segments[closed] = nil
        return closed
    }
}
