// SPDX-License-Identifier: Apache-2.0
import CJq

/// A compiled jq program in libjq.
///
/// It belongs to one thread. libjq cannot be interrupted, has no limit on memory, and ends the process when one of its
/// assertions fails; that is why it runs in separate processes (`JQWorker`).
final class JQInterpreter {
    /// An error, with libjq's message.
    struct Failure: Error { let message: String }

    /// Collects libjq's reports while it compiles.
    private final class Reports {
        var lines: [String] = []
    }

    private var state: OpaquePointer?

    /// Compiles a program. Modules cannot be imported.
    init(_ program: String) throws(Failure) {
        guard let state = jq_init() else { throw Failure(message: "there is no memory for jq") }
        self.state = state
        let reports = Reports()
        // libjq calls back with this pointer during jq_compile only; `reports` lives longer.
        jq_set_error_cb(
            state,
            { data, message in
                let text = JQInterpreter.text(jq_format_error(message))
                guard let data else { return }
                Unmanaged<Reports>.fromOpaque(data).takeUnretainedValue().lines.append(text)
            }, Unmanaged.passUnretained(reports).toOpaque())
        // `debug` says nothing to anybody, and `input` finds no more values than the one.
        jq_set_debug_cb(state, { _, message in jv_free(message) }, nil)
        jq_set_input_cb(state, { _, _ in jv_invalid() }, nil)
        // Without a module search path, libjq fails an assertion at `import`.
        jq_set_attr(state, jv_string("JQ_LIBRARY_PATH"), jv_array())
        let isCompiled = withExtendedLifetime(reports) { jq_compile(state, program) }
        jq_set_error_cb(state, nil, nil)
        guard isCompiled != 0 else { throw Failure(message: JQInterpreter.summary(of: reports.lines)) }
    }

    deinit { jq_teardown(&state) }

    /// The program's output for one JSON text; nil when there is none, an error when there are several.
    func run(_ input: [UInt8]) throws(Failure) -> [UInt8]? {
        guard input.count < Int(Int32.max) else { throw Failure(message: "the content is too large for jq") }
        let value = (input + [0]).withUnsafeBufferPointer { octets in
            octets.withMemoryRebound(to: CChar.self) { jv_parse_sized($0.baseAddress, Int32(input.count)) }
        }
        guard jv_get_kind(value) != JV_KIND_INVALID else {
            throw Failure(message: JQInterpreter.message(of: value) ?? "the content is no JSON value")
        }
        jq_start(state, value, 0)
        guard let first = try next() else { return nil }
        let isOnly: Bool
        do throws(Failure) {
            isOnly = try next().map { jv_free($0) } == nil
        } catch {
            jv_free(first)
            throw error
        }
        guard isOnly else {
            jv_free(first)
            throw Failure(message: "the program gave more than one result; put it into [ ] to make them one")
        }
        return JQInterpreter.octets(jv_dump_string(first, 0))
    }

    /// The next output, which the caller owns.
    private func next() throws(Failure) -> jv? {
        let result = jq_next(state)
        if jv_get_kind(result) != JV_KIND_INVALID { return result }
        if let message = JQInterpreter.message(of: result) { throw Failure(message: message) }
        guard jq_halted(state) == 0 else { throw Failure(message: "the program halted") }
        return nil
    }

    /// The message of an invalid value; consumes the value.
    private static func message(of value: jv) -> String? {
        guard jv_invalid_has_msg(jv_copy(value)) != 0 else {
            jv_free(value)
            return nil
        }
        return text(jq_format_error(jv_invalid_get_msg(value)))
    }

    /// The bytes of a string; consumes the value.
    private static func octets(_ string: jv) -> [UInt8] {
        defer { jv_free(string) }
        let count = Int(jv_string_length_bytes(jv_copy(string)))
        guard let start = jv_string_value(string) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private static func text(_ string: jv) -> String { String(decoding: octets(string), as: UTF8.self) }

    /// A one-line error message: libjq's first report without the part that every report has.
    private static func summary(of reports: [String]) -> String {
        let first = reports.first?.split(separator: "\n").first.map(String.init) ?? "the program does not compile"
        return ["jq: error: ", " (Unix shell quoting issues?)", " at <top-level>, line 1:", " at <top-level>"]
            .reduce(first) { $0.replacing($1, with: "") }
    }
}
