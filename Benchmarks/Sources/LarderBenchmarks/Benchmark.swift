// SPDX-License-Identifier: Apache-2.0
import Glibc

/// One operation whose cost is measured.
struct Benchmark {
    /// The operation, and its size: `head/request-browser`.
    let name: String
    /// Operations of one run; nil lets a run last long enough for the clock.
    var operations: Int?
    /// Does the operation so many times.
    let body: (Int) async throws -> Void

    init(_ name: String, operations: Int? = nil, _ body: @escaping (Int) async throws -> Void) {
        self.name = name
        self.operations = operations
        self.body = body
    }

    /// Runs it `runs` times, after one run that does not count.
    func measure(runs: Int) async throws -> Measurement {
        let count = try await calibrated()
        var costs: [Double] = []
        for _ in 0..<runs { costs.append(Double(try await nanoseconds(count)) / Double(count)) }
        costs.sort()
        return Measurement(
            name: name, median: costs[costs.count / 2], lowest: costs[0], highest: costs[costs.count - 1],
            operations: count, runs: runs)
    }

    /// How many operations take at least 20 ms.
    private func calibrated() async throws -> Int {
        if let operations {
            _ = try await nanoseconds(operations)
            return operations
        }
        var count = 1
        while try await nanoseconds(count) < 20_000_000 { count *= 2 }
        return count
    }

    private func nanoseconds(_ count: Int) async throws -> Int64 {
        let start = Benchmark.now()
        try await body(count)
        return Benchmark.now() - start
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The cost of an operation, in nanoseconds.
struct Measurement {
    let name: String
    let median: Double
    let lowest: Double
    let highest: Double
    let operations: Int
    let runs: Int

    /// One line for people.
    var line: String {
        let columns = [(median, 12), (lowest, 12), (highest, 12)].map {
            Measurement.padded(Measurement.text($0), to: $1)
        }
        return name + String(repeating: " ", count: max(1, 36 - name.utf8.count)) + columns.joined()
    }

    /// One JSON object.
    var json: String {
        """
        {"name":"\(name)","medianNanoseconds":\(Measurement.text(median)),"lowest":\(Measurement.text(lowest)),\
        "highest":\(Measurement.text(highest)),"operations":\(operations),"runs":\(runs)}
        """
    }

    /// A number with one digit behind the point.
    private static func text(_ number: Double) -> String {
        let tenths = Int64((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.utf8.count)) + text
    }
}

/// Keeps the optimiser from seeing that a result is not used.
@inline(never)
func keep<Value>(_ value: Value) { withExtendedLifetime(value) {} }
