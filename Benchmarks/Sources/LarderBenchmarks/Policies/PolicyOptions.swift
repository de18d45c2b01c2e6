// SPDX-License-Identifier: Apache-2.0

/// The arguments of `LarderBenchmarks policy`.
struct PolicyOptions {
    private var traces: [String] = []
    private var overhead = 300
    private var requests = 1_200_000

    /// Reads the options; nil when they are not understood.
    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let option = rest.popFirst() {
            guard let text = rest.popFirst() else { return nil }
            switch option {
            case "--trace": traces.append(text)
            case "--overhead":
                guard let number = Int(text), number >= 0 else { return nil }
                overhead = number
            case "--requests":
                guard let number = Int(text), number >= 1000 else { return nil }
                requests = number
            default: return nil
            }
        }
    }

    /// Replays the traces that were named, or else the mixes that are made here.
    func run() throws {
        let comparison = PolicyComparison(overhead: overhead, count: requests)
        if traces.isEmpty { comparison.compareMixes() }
        for trace in traces { try comparison.compare(csv: trace) }
    }
}
