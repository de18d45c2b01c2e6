// SPDX-License-Identifier: Apache-2.0

/// One thing to fuzz: what is done with each input, and what must hold whatever the input is. A new target is a
/// new entry in `all` and a directory of the same name in `Fuzz/corpus`.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable (UnsafeRawBufferPointer) -> Void

    static let all: [FuzzTarget] = [
        FuzzTarget(name: "request-head", run: requestHead),
        FuzzTarget(name: "response-head", run: responseHead),
        FuzzTarget(name: "chunked", run: chunked),
        FuzzTarget(name: "client-hello", run: clientHello),
        FuzzTarget(name: "http-date", run: httpDate),
        FuzzTarget(name: "list-grammar", run: listGrammar),
        FuzzTarget(name: "target-uri", run: targetURI),
        FuzzTarget(name: "fields", run: structuredFields),
        FuzzTarget(name: "pattern", run: pattern),
        FuzzTarget(name: "configuration", run: configuration),
        FuzzTarget(name: "stored-head", run: storedHead),
        FuzzTarget(name: "stored-row", run: storedRow),
    ]
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
