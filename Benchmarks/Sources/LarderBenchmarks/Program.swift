// SPDX-License-Identifier: Apache-2.0
import Glibc

@main
struct Program {
    private var runs = 9
    private var filter = ""
    private var isJSON = false
    private var isList = false

    static func main() async throws {
        if CommandLine.arguments.dropFirst().first == "policy" {
            guard let replay = PolicyOptions(CommandLine.arguments.dropFirst(2)) else {
                print("usage: LarderBenchmarks policy [--trace FILE] [--overhead OCTETS] [--requests N]")
                exit(2)
            }
            return try replay.run()
        }
        if CommandLine.arguments.dropFirst().first == "scale" {
            let arguments = CommandLine.arguments.dropFirst(2)
            guard arguments.count <= 1, let entries = Int(arguments.first ?? "1000000"), entries > 0 else {
                print("usage: LarderBenchmarks scale [ENTRIES]")
                exit(2)
            }
            return try await StoreScale(entries: entries, contentSize: 1024).run()
        }
        if CommandLine.arguments.dropFirst().first == "loads" {
            let isURLSession = CommandLine.arguments.dropFirst(2).first == "--urlsession"
            let numbers = CommandLine.arguments.dropFirst(isURLSession ? 3 : 2).map { Int($0) ?? 0 }
            guard numbers.count <= 3, numbers.allSatisfy({ $0 > 0 }) else {
                print("usage: LarderBenchmarks loads [--urlsession] [COUNT [AT-A-TIME [OCTETS]]]")
                exit(2)
            }
            let all = numbers + [10_000, 1_000, 1_024].dropFirst(numbers.count)
            return try await LoadScale(
                count: all[0], width: all[1], contentSize: all[2], isURLSession: isURLSession
            ).run()
        }
        guard let program = Program(CommandLine.arguments.dropFirst()) else {
            print("usage: LarderBenchmarks [--filter TEXT] [--runs N] [--json] [--list]")
            exit(2)
        }
        try await program.run()
    }

    /// Reads the options; nil when they are not understood.
    private init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let option = rest.popFirst() {
            switch option {
            case "--json": isJSON = true
            case "--list": isList = true
            case "--filter":
                guard let text = rest.popFirst() else { return nil }
                filter = text
            case "--runs":
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else { return nil }
                runs = number
            default: return nil
            }
        }
    }

    private func run() async throws {
        let all =
            try Benchmark.heads + Benchmark.memory + Benchmark.rules + Benchmark.patterns
            + Benchmark.pipeline + Benchmark.store
        let chosen = all.filter { filter.isEmpty || $0.name.contains(filter) }
        if isList { return chosen.forEach { print($0.name) } }
        if isJSON { print("[") }
        if !isJSON { print("nanoseconds per operation               median      lowest     highest") }
        for (index, benchmark) in chosen.enumerated() {
            let measured = try await benchmark.measure(runs: runs)
            print(isJSON ? measured.json + (index == chosen.count - 1 ? "" : ",") : measured.line)
        }
        if isJSON { print("]") }
    }
}
