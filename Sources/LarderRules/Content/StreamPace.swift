// SPDX-License-Identifier: Apache-2.0

/// When the bytes of a stored stream had come, so that it can be sent again at the same pace.
///
/// The marks are in few bytes, as they are stored with the response's head: for each mark how many bytes and how many
/// milliseconds it is behind the one before, in seven bits of each byte, the lowest first.
package struct StreamPace: Sendable, Hashable {
    /// A point of the stream: the bytes before `end` had come at `at`, in milliseconds since the head.
    package struct Mark: Sendable, Hashable {
        package let end: Int64
        package let at: Int64

        package init(end: Int64, at: Int64) {
            self.end = end
            self.at = at
        }
    }

    /// A step of a replay: the bytes before `end` are sent no earlier than `due` after the head.
    package struct Step: Sendable, Hashable {
        package let end: Int64
        package let due: Duration

        package init(end: Int64, due: Duration) {
            self.end = end
            self.due = due
        }
    }

    /// The most marks of a stream: neighbours of a longer list become one.
    package static let markLimit = 1_024
    /// A replay waits no longer than this for the next bytes, however long the origin took.
    package static let longestPause = Duration.seconds(10)
    /// After this a replay waits no more.
    package static let longestReplay = Duration.seconds(600)
    /// No stream takes longer: seventy years in milliseconds.
    private static let latest: Int64 = 1 << 41

    /// The marks as they are stored.
    package let octets: [UInt8]

    /// - Parameter marks: in order.
    init(_ marks: [Mark]) {
        var octets: [UInt8] = []
        var last = Mark(end: 0, at: 0)
        for mark in marks {
            StreamPace.append(UInt64(bitPattern: mark.end - last.end), to: &octets)
            StreamPace.append(UInt64(bitPattern: mark.at - last.at), to: &octets)
            last = mark
        }
        self.octets = octets
    }

    /// The pace that was stored with content of `length` bytes; nil when the bytes are none.
    package init?(stored octets: [UInt8], length: Int64) {
        let marks = StreamPace.marks(in: octets)
        guard let marks, !marks.isEmpty, marks.count <= StreamPace.markLimit,
            marks.allSatisfy({ $0.end <= length && $0.at <= StreamPace.latest })
        else { return nil }
        self.octets = octets
    }

    package var marks: [Mark] { StreamPace.marks(in: octets) ?? [] }

    /// How long the origin took.
    package var duration: Duration { .milliseconds(marks.last?.at ?? 0) }

    /// The replay: without the longest pauses.
    package var steps: [Step] {
        var (due, last) = (Duration.zero, Int64(0))
        return marks.map { mark in
            due = min(due + min(.milliseconds(mark.at - last), StreamPace.longestPause), StreamPace.longestReplay)
            last = mark.at
            return Step(end: mark.end, due: due)
        }
    }

    // MARK: Bytes

    private static func append(_ number: UInt64, to octets: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            octets.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        octets.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Nil for bytes that `init` does not write.
    private static func marks(in octets: [UInt8]) -> [Mark]? {
        var marks: [Mark] = []
        var (end, at) = (Int64(0), Int64(0))
        var position = 0
        while position < octets.count {
            guard let step = number(in: octets, from: &position), let pause = number(in: octets, from: &position),
                step > 0
            else { return nil }
            // The sums of numbers below 2^49 do not overflow before there are 2^14 of them.
            guard marks.count < markLimit else { return nil }
            end += step
            at += pause
            marks.append(Mark(end: end, at: at))
        }
        return marks
    }

    /// A number of up to seven bytes.
    private static func number(in octets: [UInt8], from position: inout Int) -> Int64? {
        var number: Int64 = 0
        for shift in 0..<7 {
            guard position < octets.count else { return nil }
            let octet = octets[position]
            position += 1
            number |= Int64(octet & 0x7F) << (7 * Int64(shift))
            // The last byte is not zero, so that each number is written in one way.
            if octet < 0x80 { return octet == 0 && shift > 0 ? nil : number }
        }
        return nil
    }
}

extension StreamPace {
    /// Notes when the bytes of a stream come.
    ///
    /// The bytes that come in one slot of time are one mark, due when the last of them had come. With too many marks
    /// the slots grow.
    package struct Recorder: Sendable {
        private var marks: [Mark] = []
        /// The length of a slot in milliseconds.
        private var slot: Int64 = 1

        package init() {}

        /// - Parameters:
        ///   - end: how many bytes there are now.
        ///   - elapsed: since the head.
        package mutating func note(end: Int64, at elapsed: Duration) {
            guard end > marks.last?.end ?? 0 else { return }
            let (seconds, attoseconds) = elapsed.components
            let at = min(max(seconds * 1_000 + attoseconds / 1_000_000_000_000_000, marks.last?.at ?? 0), latest)
            add(Mark(end: end, at: at))
            while marks.count > markLimit {
                slot *= 2
                let all = marks
                marks.removeAll(keepingCapacity: true)
                for mark in all { add(mark) }
            }
        }

        private mutating func add(_ mark: Mark) {
            if let last = marks.last, last.at / slot == mark.at / slot { marks.removeLast() }
            marks.append(mark)
        }

        /// Nil for a stream that came at once.
        package var pace: StreamPace? {
            guard let last = marks.last, last.at > 0 else { return nil }
            return StreamPace(marks)
        }
    }
}
