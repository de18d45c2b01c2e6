// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// A position in a trace: the trace, and the parent of the spans that follow (W3C Trace Context, Level 1).
struct TraceContext: Sendable, Equatable {
    /// The trace's id in two halves; never both 0.
    let trace: (high: UInt64, low: UInt64)
    /// The span's id; never 0.
    let span: UInt64
    /// True if the spans of the trace are recorded.
    let isSampled: Bool

    static let parentField: FieldName = "traceparent"
    static let stateField: FieldName = "tracestate"

    /// The root of a new trace that is recorded.
    static func root() -> TraceContext {
        TraceContext(trace: (.random(in: .min ... .max), .random(in: 1 ... .max)), span: newSpan(), isSampled: true)
    }

    /// The root of a trace that is not recorded, by this Larder or by those behind it.
    static func unrecorded() -> TraceContext {
        TraceContext(trace: (.random(in: .min ... .max), .random(in: 1 ... .max)), span: newSpan(), isSampled: false)
    }

    /// The context of a new span in the same trace.
    func child() -> TraceContext { TraceContext(trace: trace, span: Self.newSpan(), isSampled: isSampled) }

    private static func newSpan() -> UInt64 { .random(in: 1 ... .max) }

    static func == (a: TraceContext, b: TraceContext) -> Bool {
        a.trace == b.trace && a.span == b.span && a.isSampled == b.isSampled
    }

    // MARK: The field

    /// The value of `traceparent`.
    var text: String { "00-\(traceText)-\(spanText)-\(isSampled ? "01" : "00")" }
    var traceText: String { trace.high.hexadecimal + trace.low.hexadecimal }
    var spanText: String { span.hexadecimal }
}

extension TraceContext {
    private static let length = 55

    /// Nil when `value` is not valid (§3.2). Of later versions, the part that they share with this one is used.
    init?(_ octets: UnsafeRawBufferPointer) {
        let value = CheckedOctets(octets)
        guard value.count >= Self.length, let version = Self.number(value.part(0..<2)), version != 0xFF,
            version == 0 ? value.count == Self.length : value.count == Self.length || Self.isDash(value, Self.length),
            Self.isDash(value, 2), Self.isDash(value, 35), Self.isDash(value, 52),
            let high = Self.number(value.part(3..<19)), let low = Self.number(value.part(19..<35)), high | low != 0,
            let span = Self.number(value.part(36..<52)), span != 0, let flags = Self.number(value.part(53..<55))
        else { return nil }
        self.init(trace: (high, low), span: span, isSampled: flags & 1 == 1)
    }

    init?(_ text: String) {
        let octets = Array(text.utf8)
        guard let context = octets.withUnsafeBytes({ TraceContext($0) }) else { return nil }
        self = context
    }

    private static func isDash(_ value: CheckedOctets, _ index: Int) -> Bool {
        value[index] == UInt8(ascii: "-")
    }

    /// Digits in lower case only (§3.2.2).
    private static func number(_ digits: CheckedOctets) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case 0x30...0x39: number = number << 4 | UInt64(digit - 0x30)
            case 0x61...0x66: number = number << 4 | UInt64(digit - 0x61 + 10)
            default: return nil
            }
        }
        return number
    }
}

/// The fields of a request that concern traces.
struct ReceivedTrace {
    /// Nil when there is none, or an invalid one.
    private(set) var context: TraceContext?
    private(set) var hasParent = false
    private(set) var hasState = false

    init(_ fields: Fields) {
        var (context, parents, hasState) = (nil as TraceContext?, 0, false)
        fields.forEachLine { name, spelling, value in
            guard name == nil, spelling.count == 11 || spelling.count == 10 else { return }
            if Self.isEqual(spelling, "traceparent") {
                parents += 1
                context = TraceContext(value)
            } else if Self.isEqual(spelling, "tracestate") {
                hasState = true
            }
        }
        self.context = parents == 1 ? context : nil
        hasParent = parents > 0
        self.hasState = hasState
    }

    private static func isEqual(_ spelling: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        guard spelling.count == name.utf8CodeUnitCount else { return false }
        return spelling.indices.allSatisfy { ASCII.lowercased(spelling[$0]) == name.utf8Start[$0] }
    }
}
