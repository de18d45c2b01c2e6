// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import LarderIO

/// Appends content to segments, and frees the space of removed content. Belongs to the writing thread.
///
/// Content is written before the transaction is committed whose row refers to it. A place is never written twice, so a
/// reader with an old row gets the original bytes, or zeros, which have another digest.
final class SegmentWriter {
    private let files: SegmentFiles
    private let canPunch: Bool
    private var table = SegmentTable()
    private var current: SegmentFile?
    /// The end of the current segment.
    private var end: Int64 = 0
    private var lastNumber: Int64 = 0
    /// Segments with content that may not be on the disk itself yet.
    private var unsynchronized: [SegmentFile] = []
    /// Segments that take more room than rows account for.
    private var toSweep: [Int64] = []

    /// Bytes: more than a file system needs to know where a segment's parts are.
    private static let slack: Int64 = 256 << 10

    /// - Parameter canPunch: false for tests without holes.
    init(_ files: SegmentFiles, canPunch: Bool) {
        self.files = files
        self.canPunch = canPunch
        table.canPunch = canPunch
    }

    /// The bytes on disk.
    var occupied: Int64 { table.occupied }

    /// True if content may be appended: without holes, a single content would keep the room of many.
    var isUsable: Bool { table.canPunch }

    /// True if content cannot be relied upon where it is, as a read has failed there.
    func isUnread(_ place: SegmentPlace) -> Bool { files.takeUnread(place) }

    // MARK: Starting

    /// Learns what the rows of a database refer to. Segments without any are removed.
    func begin(_ used: [Int64: Int64]) {
        letGo()
        var segments: [Int64: SegmentTable.Segment] = [:]
        let found = files.numbers
        // Numbers count up from 1; a damaged one must not use them up.
        let numbers = (Array(used.keys) + found).filter { $0 < SegmentPlace.segments.upperBound / 2 }
        lastNumber = max(lastNumber, numbers.max() ?? 0)
        for number in found {
            guard let used = used[number] else {
                files.remove(number)
                continue
            }
            let size = ((try? files.open(number, O_RDONLY)) ?? nil)?.size ?? (length: 0, allocated: 0)
            segments[number] = SegmentTable.Segment(used: used, length: size.length)
            if size.allocated > used.adding(saturating: Self.slack) { toSweep.append(number) }
        }
        let canPunch = table.canPunch
        table = SegmentTable(segments)
        table.canPunch = canPunch
    }

    /// Another database takes the place of the present one.
    func letGo() {
        current = nil
        unsynchronized = []
        toSweep = []
        table = SegmentTable()
        table.canPunch = canPunch
        files.closeAll()
    }

    /// A segment to look through for what an earlier run left; nil when there is none.
    func nextToSweep() -> Int64? {
        toSweep.removeAll { $0 == table.current }
        return table.canPunch ? toSweep.popLast() : nil
    }

    /// Gives back all of a segment but the content that rows refer to, in its order.
    func sweep(_ number: Int64, sparing places: [SegmentPlace]) {
        guard let file = (try? files.open(number, O_RDWR)) ?? nil else { return }
        punch(SegmentGap.between(places, in: number, length: file.size.length), in: file)
    }

    // MARK: Appending

    /// The place for the next content; nil if there is none, and it stays in its row.
    ///
    /// - Parameter limit: the length at which another segment is begun.
    func place(for length: Int64, limit: Int64) throws(DiskFailure) -> SegmentPlace? {
        guard isUsable else { return nil }
        if current == nil || end >= limit {
            try beginSegment()
            guard isUsable else { return nil }
        }
        return current.flatMap { SegmentPlace(segment: $0.number, offset: end, length: length) }
    }

    /// Writes content to the place that was found for it.
    func write(_ bytes: UnsafeRawBufferPointer, to place: SegmentPlace) throws(DiskFailure) {
        guard let current, current.number == place.segment else {
            throw DiskFailure(errno: ENOENT, operation: "write to segment \(place.segment)")
        }
        end = place.offset + place.room
        table.store(place)
        do {
            try current.write(bytes, at: place.offset)
        } catch {
            closeSegment()
            throw error
        }
    }

    private func beginSegment() throws(DiskFailure) {
        closeSegment()
        let file = try createNext()
        guard canPunch, file.punch(at: 0, count: SegmentPlace.alignment) else {
            table.canPunch = false
            files.remove(lastNumber)
            return
        }
        current = file
        end = 0
        table.current = lastNumber
    }

    private func createNext() throws(DiskFailure) -> SegmentFile {
        while true {
            lastNumber += 1
            do {
                return try files.create(lastNumber)
            } catch  where error.errno != EEXIST {
                throw error
            } catch {
                // Something else has that name.
                continue
            }
        }
    }

    private func closeSegment() {
        if let current { unsynchronized.append(current) }
        current = nil
        if let empty = table.close() { files.remove(empty) }
    }

    /// Begins another segment if the current one was deleted: what is written to it would be lost.
    func checkCurrent() {
        if let current, !files.isNamed(current) { closeSegment() }
    }

    /// Has content on the disk before the rows that refer to it are written back from the log. Rows that are still in the
    /// log when the power fails may come without it; their digests tell.
    func synchronize() {
        for file in unsynchronized { file.synchronize() }
        unsynchronized = []
        current?.synchronize()
    }

    // MARK: Freeing

    /// Rows that referred to these places are gone, or were never committed.
    func free(_ places: [SegmentPlace]) {
        guard !places.isEmpty else { return }
        let (empty, gaps) = table.free(places)
        for segment in empty {
            unsynchronized.removeAll { $0.number == segment }
            files.remove(segment)
        }
        var file: SegmentFile?
        for gap in gaps {
            if file?.number != gap.segment {
                let isCurrent = current?.number == gap.segment
                file = isCurrent ? current : (try? files.open(gap.segment, O_RDWR)) ?? nil
            }
            if let file { punch([gap], in: file) }
        }
    }

    /// Rows that referred to these places were damaged: there may be something else, which stays.
    func forget(_ places: [SegmentPlace]) {
        guard !places.isEmpty else { return }
        for segment in table.free(places).empty { files.remove(segment) }
    }

    private func punch(_ gaps: [SegmentGap], in file: SegmentFile) {
        guard table.canPunch else { return }
        for gap in gaps where !file.punch(at: gap.offset, count: gap.length) {
            table.canPunch = false
            return
        }
    }
}
