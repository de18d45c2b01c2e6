// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// No peer gets more of the daemon's time with the same number of bytes. Times are those of this thread alone.
@Suite("The time of reading what peers send", .serialized)
struct GrowthTests {
    /// The most that four times the bytes may cost, in times of the fourth.
    private static let mostGrowth = 6.0
    /// Nanoseconds for a byte, of which few readers need a hundredth: beyond it growth has ended at a limit, as that of a
    /// reader that looks through the next 4 KiB for each byte.
    #if SANITIZED
        private static let mostPerByte = 200_000.0
    #else
        private static let mostPerByte = 20_000.0
    #endif
    /// Shorter times, in nanoseconds, cannot be compared.
    private static let least = 200_000.0

    @Test(arguments: Scanner.all.flatMap { scanner in scanner.lines.indices.map { (scanner.name, $0) } })
    func `grows no faster than the bytes`(name: String, line: Int) throws {
        let scanner = try #require(Scanner.all.first { $0.name == name })
        let text = scanner.lines[line]
        // What grows up to a limit of its own is seen between the short ones, what starts late between the long ones.
        for shortest in Set([1 << 10, scanner.limit / 4]).sorted() {
            let short = scanner.input(text, count: shortest)
            let long = scanner.input(text, count: 4 * shortest)
            var figures: [String] = []
            // A machine with much else to do may slow one of them down for a while.
            let isLinear = (0..<4).contains(where: { attempt in
                let most = time(scanner, long, tries: 1 + attempt * 2)
                guard most > Self.least else { return true }
                let growth = most / max(time(scanner, short, tries: 3 + attempt * 4), 1)
                let perByte = most / Double(long.count)
                figures.append("\(Int(most)) ns for \(long.count) bytes, \(growth) times \(short.count)")
                return growth < Self.mostGrowth && perByte < Self.mostPerByte
            })
            #expect(isLinear, "\(text): \(figures.joined(separator: ", "))")
        }
    }

    /// The least of several tries, in nanoseconds.
    private func time(_ scanner: Scanner, _ input: [UInt8], tries: Int) -> Double {
        (0..<tries).map { _ in
            let start = threadTime()
            scanner.read(input)
            return Double(threadTime() - start)
        }.min() ?? 0
    }

    private func threadTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
