// SPDX-License-Identifier: Apache-2.0

import Glibc

/// One thing to fuzz: what is done with each input, and what must hold whatever the input is. A new target is a
/// new entry in `all` and a directory of the same name in `Fuzz/corpus`.
struct FuzzTarget: Sendable {
    let name: String
    /// The most microseconds of this thread that a byte of input may cost, on top of `allowance`.
    var microsecondsPerByte: Int64 = 20
    let run: @Sendable (UnsafeRawBufferPointer) -> Void

    /// Microseconds that any input may cost: short ones cannot be told from noise.
    private static let allowance: Int64 = 20_000

    /// Runs an input, and ends the run when it took longer than its length allows, three times in a row.
    func runTimed(_ input: UnsafeRawBufferPointer) {
        let most = FuzzTarget.allowance + microsecondsPerByte * Int64(input.count)
        var least = Int64.max
        for _ in 0..<3 where least > most {
            let start = threadMicroseconds()
            run(input)
            least = min(least, threadMicroseconds() - start)
        }
        require(least <= most, "\(input.count) bytes took \(least) microseconds, and may take \(most)")
    }

    static let all: [FuzzTarget] = [
        FuzzTarget(name: "request-head", run: requestHead),
        FuzzTarget(name: "response-head", run: responseHead),
        FuzzTarget(name: "chunked", run: chunked),
        FuzzTarget(name: "client-hello", run: clientHello),
        FuzzTarget(name: "http-date", run: httpDate),
        FuzzTarget(name: "list-grammar", run: listGrammar),
        FuzzTarget(name: "target-uri", run: targetURI),
        FuzzTarget(name: "fields", run: structuredFields),
        FuzzTarget(name: "links", microsecondsPerByte: 2, run: links),
        FuzzTarget(name: "link-fields", run: linkFields),
        FuzzTarget(name: "pattern", run: pattern),
        FuzzTarget(name: "configuration", run: configuration),
        FuzzTarget(name: "stored-head", run: storedHead),
        FuzzTarget(name: "stored-row", run: storedRow),
    ]
}

/// Microseconds that this thread has run.
private func threadMicroseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}

/// Ends the run, with what was expected, when a property does not hold.
@inline(never)
func require(_ condition: Bool, _ property: @autoclosure () -> String) {
    guard !condition else { return }
    // Crashing is how a fuzz target reports.
    fatalError("property does not hold: \(property())")
}

/// Where an input is cut into reads: positions taken from the input itself, so that the fuzzer finds them.
func cuts(_ input: UnsafeRawBufferPointer) -> [Int] {
    guard input.count > 0 else { return [0] }
    if input.count <= 64 { return Array(0...input.count) }
    let positions = input.suffix(4).map { Int($0) * input.count / 256 }
    return positions.sorted() + [input.count]
}
