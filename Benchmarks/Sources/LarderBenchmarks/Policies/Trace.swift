// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A sequence of requests to replay. Keys are numbered from 0 in the order of their first request.
struct Trace {
    struct Request {
        let key: Int32
        /// Octets of the first request for the key.
        let size: Int32
    }

    let name: String
    private(set) var requests: [Request] = []
    private(set) var keyCount = 0
    private var numbers: [UInt64: Int32] = [:]
    private var sizes: [Int32] = []

    init(_ name: String) { self.name = name }

    mutating func append(_ key: UInt64, size: Int) {
        let number: Int32
        if let known = numbers[key] {
            number = known
        } else {
            number = Int32(keyCount)
            numbers[key] = number
            sizes.append(Int32(clamping: max(1, size)))
            keyCount += 1
        }
        requests.append(Request(key: number, size: sizes[Int(number)]))
    }

    /// Octets of all keys together.
    var footprint: Int { sizes.reduce(0) { $0 + Int($1) } }
}

extension Trace {
    /// Reads lines `key,size`; key is any text, size in octets, to which `overhead` is added. A first line that names
    /// the columns is passed over, any other that cannot be read is refused by its number.
    init(csv path: String, overhead: Int) throws {
        self.init(path.split(separator: "/").last.map(String.init) ?? path)
        guard let file = fopen(path, "r") else { throw TraceFailure("\(path): \(String(cString: strerror(errno)))") }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var number = 0
        while getline(&line, &capacity, file) >= 0, let text = line.map({ String(cString: $0) }) {
            number += 1
            let parts = text.split(whereSeparator: { $0 == "," || $0 == "\n" || $0 == "\r\n" })
            guard parts.count >= 2, let size = Int(parts[1]) else {
                if number == 1 { continue }
                throw TraceFailure("\(path):\(number): expected key,size; found \(text.debugDescription)")
            }
            append(Trace.hash(parts[0]), size: size + overhead)
        }
    }

    private static func hash(_ text: Substring) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    /// Keys of one size whose popularity falls with the given power of their rank.
    static func zipf(_ theta: Double, keys: Int, size: Int, count: Int, seed: UInt64 = 5) -> Trace {
        var trace = Trace("zipf \(theta) over \(keys)")
        var source = ZipfSource(theta, keys: keys, seed: seed)
        for _ in 0..<count { trace.append(UInt64(source.next()), size: size) }
        return trace
    }

    /// The same, and every so often so many keys in a row that come only once.
    static func scans(
        _ theta: Double, keys: Int, size: Int, count: Int, every: Int, length: Int, seed: UInt64 = 5
    ) -> Trace {
        var trace = Trace("zipf \(theta) over \(keys), scans")
        var source = ZipfSource(theta, keys: keys, seed: seed)
        var scanned = UInt64(1) << 40
        for step in 0..<count {
            trace.append(UInt64(source.next()), size: size)
            guard step % every == every - 1 else { continue }
            for _ in 0..<length {
                trace.append(scanned, size: size)
                scanned += 1
            }
        }
        return trace
    }

    /// Popularity that moves: every so often, ranks are dealt to other keys.
    static func drifting(_ theta: Double, keys: Int, size: Int, count: Int, every: Int, seed: UInt64 = 5) -> Trace {
        var trace = Trace("zipf \(theta) over \(keys), drifting")
        var source = ZipfSource(theta, keys: keys, seed: seed)
        for step in 0..<count {
            let era = UInt64(step / every)
            trace.append((UInt64(source.next()) &+ era &* 7919) % UInt64(keys), size: size)
        }
        return trace
    }

    /// The same keys in the same order, again and again.
    static func loop(keys: Int, size: Int, count: Int) -> Trace {
        var trace = Trace("loop over \(keys)")
        for step in 0..<count { trace.append(UInt64(step % keys), size: size) }
        return trace
    }
}

struct TraceFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Numbers from 0 on, of which rank r comes with a probability proportional to (r + 1) to the power of -theta
/// (Vose's alias method).
struct ZipfSource {
    private var state: UInt64
    private var threshold: [Float] = []
    private var alias: [Int32] = []

    init(_ theta: Double, keys: Int, seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var shares = (0..<keys).map { pow(Double($0 + 1), -theta) }
        let scale = Double(keys) / shares.reduce(0, +)
        for index in shares.indices { shares[index] *= scale }
        threshold = [Float](repeating: 1, count: keys)
        alias = (0..<Int32(keys)).map { $0 }
        var small = shares.indices.filter { shares[$0] < 1 }
        var large = shares.indices.filter { shares[$0] >= 1 }
        while let less = small.popLast(), let more = large.popLast() {
            threshold[less] = Float(shares[less])
            alias[less] = Int32(more)
            shares[more] -= 1 - shares[less]
            if shares[more] < 1 { small.append(more) } else { large.append(more) }
        }
    }

    mutating func next() -> Int {
        let place = Int(random().multipliedFullWidth(by: UInt64(threshold.count)).high)
        let level = Float(random() >> 40) * 0x1p-24
        return level < threshold[place] ? place : Int(alias[place])
    }

    private mutating func random() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
