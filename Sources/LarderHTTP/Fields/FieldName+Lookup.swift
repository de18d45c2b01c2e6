// SPDX-License-Identifier: Apache-2.0

extension FieldName {
    /// The code of a registered name, or 0 for another. `bytes` are known to be a token.
    @inline(__always)
    static func code(ofToken bytes: RawSpan) -> UInt8 {
        RegisteredNames.table.code(ofToken: bytes, at: 0, count: bytes.byteCount)
    }
}

/// Finds registered names by length and outer letters, and compares eight bytes at a time, so that a head full of
/// unknown names costs a few instructions for each.
///
/// Folding is setting bit 5: among tokens it maps only the upper-case letter and the letter itself to a lower-case
/// letter, and nothing else to a digit or hyphen; registered names are made of those.
struct RegisteredNames: Sendable {
    static let table = RegisteredNames()

    // nonisolated(unsafe), all three: the memory is written once, in init, and only read from then on.

    /// The length of the longest name.
    private let longest: Int
    /// For each bucket the first candidate's code, or 0.
    nonisolated(unsafe) private let heads: UnsafePointer<UInt8>
    /// For each code the next candidate's code, or 0.
    nonisolated(unsafe) private let nexts: UnsafePointer<UInt8>
    /// For each code its folded name in `slot` bytes.
    nonisolated(unsafe) private let names: UnsafeRawPointer
    private let slot: Int

    private init() {
        let registered = FieldName.registered.map { Array($0.lowercased().utf8) }
        longest = registered.map(\.count).max() ?? 0
        slot = (longest + 8) & ~7
        // Made once and kept for the life of the process.
        let heads = UnsafeMutablePointer<UInt8>.allocate(capacity: RegisteredNames.buckets)
        heads.initialize(repeating: 0, count: RegisteredNames.buckets)
        let nexts = UnsafeMutablePointer<UInt8>.allocate(capacity: registered.count)
        nexts.initialize(repeating: 0, count: registered.count)
        let names = UnsafeMutableRawBufferPointer.allocate(byteCount: registered.count * slot, alignment: 8)
        names.initializeMemory(as: UInt8.self, repeating: 0)
        for (code, name) in registered.enumerated() {
            guard let first = name.first, let last = name.last else { continue }
            let bucket = RegisteredNames.bucket(count: name.count, first: first, last: last)
            nexts[code] = heads[bucket]
            heads[bucket] = UInt8(code)
            for (index, octet) in name.enumerated() { names[code * slot + index] = octet }
        }
        self.heads = UnsafePointer(heads)
        self.nexts = UnsafePointer(nexts)
        // Holds: there are registered names, so the memory is not empty.
        self.names = UnsafeRawPointer(names.baseAddress!)
    }

    @inline(__always) private static var buckets: Int { 512 }

    @inline(__always)
    private static func bucket(count: Int, first: UInt8, last: UInt8) -> Int {
        (count &* 7 &+ Int(first | 0x20) &* 31 &+ Int(last | 0x20) &* 131) & (buckets &- 1)
    }

    @inline(__always)
    func code(ofToken bytes: RawSpan, at start: Int, count: Int) -> UInt8 {
        guard count > 0, count <= longest else { return 0 }
        let bucket = RegisteredNames.bucket(count: count, first: bytes[start], last: bytes[start &+ count &- 1])
        var candidate = heads[bucket]
        while candidate != 0 {
            if RegisteredNames.matches(bytes, at: start, names + Int(candidate) &* slot, count: count) {
                return candidate
            }
            candidate = nexts[Int(candidate)]
        }
        return 0
    }

    @inline(__always)
    private static func matches(_ bytes: RawSpan, at start: Int, _ name: UnsafeRawPointer, count: Int) -> Bool {
        let fold: UInt64 = 0x2020_2020_2020_2020
        if count >= 8 {
            var position = 0
            while position &+ 8 <= count {
                let word = bytes.eight(at: start &+ position) | fold
                if word != name.loadUnaligned(fromByteOffset: position, as: UInt64.self) { return false }
                position &+= 8
            }
            // The last eight bytes overlap the ones before.
            return bytes.eight(at: start &+ count &- 8) | fold
                == name.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        }
        if count >= 4 {
            let fold: UInt32 = 0x2020_2020
            let isAlike = bytes.four(at: start) | fold == name.loadUnaligned(as: UInt32.self)
            return isAlike
                && bytes.four(at: start &+ count &- 4) | fold
                    == name.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
        }
        for position in 0..<count
        where bytes[start &+ position] | 0x20
            != name.load(fromByteOffset: position, as: UInt8.self)
        {
            return false
        }
        return true
    }
}
