// SPDX-License-Identifier: Apache-2.0
import CSQLite
import Glibc
import LarderHTTP
import LarderIO

/// The files in `segments/`, named by numbers. Any thread may read.
final class SegmentFiles: Sendable {
    static let folderName = "segments"
    private static let mostOpen = 32

    private let directory: StoreDirectory
    /// The most recently read segments, each with an open descriptor.
    private let opened = Monitor<[Int64: SegmentFile]>([:])
    /// Places that could not be read lately.
    private let unread = Monitor<Set<SegmentPlace>>([])
    private static let mostUnread = 1 << 10

    init(directory: StoreDirectory) { self.directory = directory }

    /// The numbers of all segments there are.
    var numbers: [Int64] {
        guard let folder = try? folder() else { return [] }
        return folder.names.compactMap { name in
            // A file with a name that Larder does not give is not Larder's.
            Int64(name).flatMap { SegmentPlace.segments.contains($0) && "\($0)" == name ? $0 : nil }
        }
    }

    func create(_ number: Int64) throws(DiskFailure) -> SegmentFile {
        try SegmentFile(number, in: folder(isMade: true), O_RDWR | O_CREAT | O_EXCL)
    }

    /// Opens a segment to write to it, or to know about it; nil if there is none.
    func open(_ number: Int64, _ access: Int32) throws(DiskFailure) -> SegmentFile? {
        // Without the store's directory, no segment is known to be missing.
        let root = try directory.open()
        do {
            return try SegmentFile(number, in: Directory(Self.folderName, in: root), access)
        } catch  where [ENOENT, ELOOP, ENOTDIR].contains(error.errno) {
            return nil
        }
    }

    func remove(_ number: Int64) {
        _ = try? folder().remove("\(number)")
        opened.withLock { $0[number] = nil }
    }

    /// Closes all files: there may be others by now.
    func closeAll() { opened.withLock { $0 = [:] } }

    /// The bytes of content as they are on disk, not verified; nil if they are not there.
    func read(_ place: SegmentPlace) throws(DiskFailure) -> ContentChunk? {
        var file = opened.withLock { $0[place.segment] }
        if file == nil {
            guard let found = try open(place.segment, O_RDONLY) else { return nil }
            opened.withLock { files in
                if files.count >= Self.mostOpen { files = [:] }
                files[place.segment] = found
            }
            // It may have been removed just before: an open file would keep its room.
            if !isNamed(found) { opened.withLock { $0[place.segment] = nil } }
            file = found
        }
        do {
            return try file?.read(at: place.offset, count: Int(place.length))
        } catch {
            noteUnread(place)
            throw error
        }
    }

    /// Remembers a failed read, so that equal content, when it is stored next, is not taken to be there.
    func noteUnread(_ place: SegmentPlace) {
        unread.withLock { places in
            // An old one may be of content that never comes again.
            if places.count >= Self.mostUnread, !places.contains(place) { places.removeFirst() }
            places.insert(place)
        }
    }

    /// True if a read of a place has failed; it is told once.
    func takeUnread(_ place: SegmentPlace) -> Bool { unread.withLock { $0.remove(place) != nil } }

    /// True if the name of a segment still leads to this file.
    func isNamed(_ file: SegmentFile) -> Bool {
        guard let status = try? folder().status(of: file.name) else { return false }
        return Directory.Identity(status) == file.identity
    }

    private func folder(isMade: Bool = false) throws(DiskFailure) -> Directory {
        try Directory(Self.folderName, in: directory.open(), isMade: isMade)
    }
}

/// An open segment.
final class SegmentFile: Sendable {
    let number: Int64
    let identity: Directory.Identity
    private let descriptor: Int32
    private let path: String

    var name: String { "\(number)" }

    init(_ number: Int64, in folder: Directory, _ access: Int32) throws(DiskFailure) {
        let descriptor = try folder.open("\(number)", access)
        path = "\(folder.path)/\(number)"
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw DiskFailure(errno: ENOENT, operation: "open \(path), which is no file")
        }
        self.number = number
        self.descriptor = descriptor
        identity = Directory.Identity(status)
    }

    deinit { close(descriptor) }

    /// The length of the file, and the bytes it takes on disk; zeros if they are unknown.
    var size: (length: Int64, allocated: Int64) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return (0, 0) }
        return (Int64(status.st_size), Int64(status.st_blocks) * 512)
    }

    func read(at offset: Int64, count: Int) throws(DiskFailure) -> ContentChunk? {
        try readChunk(descriptor, at: offset, count: count, path: path)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskFailure) {
        try writeAll(bytes, to: descriptor, at: offset, path: path)
    }

    func synchronize() { fdatasync(descriptor) }

    /// Gives the room of a part back, which reads as zeros from then on. False where the file system cannot.
    func punch(at offset: Int64, count: Int64) -> Bool {
        while csqlite_punch_hole(descriptor, offset, count) != 0 {
            if errno != EINTR { return errno != EOPNOTSUPP && errno != ENOSYS }
        }
        return true
    }
}
