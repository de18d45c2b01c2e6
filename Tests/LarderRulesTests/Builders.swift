// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

/// The instant the tests take place at: Sun, 09 Sep 2001 01:46:40 GMT.
let epoch = Timestamp(seconds: 1_000_000_000)

extension Timestamp {
    /// So many seconds after `epoch`.
    static func at(_ seconds: Double) -> Timestamp {
        Timestamp(nanoseconds: epoch.nanoseconds + Int64(seconds * 1_000_000_000))
    }

    /// The instant, in whole seconds, as an HTTP-date.
    var httpDate: String {
        let days = seconds / 86_400
        let time = seconds % 86_400
        var year: Int64 = 1970
        var rest = days
        func length(_ year: Int64) -> Int64 { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365 }
        while rest >= length(year) {
            rest -= length(year)
            year += 1
        }
        let months = [31, length(year) == 366 ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].map(Int64.init)
        var month = 0
        while rest >= months[month] {
            rest -= months[month]
            month += 1
        }
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(weekdays[Int(days % 7)]), \(two(rest + 1)) \(names[month]) \(year) "
            + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
    }
}

extension Fields {
    /// Makes a section of `Name: value` lines.
    init(lines: [String]) {
        self.init()
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), let name = FieldName(line[..<colon]) else {
                preconditionFailure("'\(line)' is no field line")
            }
            append(name, line[line.index(after: colon)...].drop { $0 == " " })
        }
    }
}

extension RequestHead {
    static func get(_ lines: String...) -> RequestHead {
        RequestHead(method: .get, target: "/a", fields: Fields(lines: lines))
    }
    static func head(_ lines: String...) -> RequestHead {
        RequestHead(method: .head, target: "/a", fields: Fields(lines: lines))
    }
    static func with(_ method: Method, _ lines: String...) -> RequestHead {
        RequestHead(method: method, target: "/a", fields: Fields(lines: lines))
    }
}

extension ResponseHead {
    static func ok(_ lines: String...) -> ResponseHead { ResponseHead(status: 200, fields: Fields(lines: lines)) }
    static func status(_ status: Status, _ lines: String...) -> ResponseHead {
        ResponseHead(status: status, fields: Fields(lines: lines))
    }
    static func ok(cacheControl: String) -> ResponseHead { ok("Cache-Control: \(cacheControl)") }
}

extension StoredResponse {
    /// The stored form of `response` when it arrives at `at` seconds, without delay.
    static func stored(
        _ response: ResponseHead, to request: RequestHead = .get(), at seconds: Double = 0,
        policy: CachePolicy = CachePolicy(),
        length: Int64? = 10
    ) -> StoredResponse {
        StoredResponse(
            response, to: request, requestTime: .at(seconds), responseTime: .at(seconds), contentLength: length,
            policy: policy)
    }
}

extension CachePolicy {
    static func with(_ change: (inout CachePolicy) -> Void) -> CachePolicy {
        var policy = CachePolicy()
        change(&policy)
        return policy
    }
}

/// A row of a table: what it shows, what goes in, what must come out.
struct Row<Input: Sendable, Output: Sendable>: Sendable, CustomTestStringConvertible {
    let label: String
    let input: Input
    let output: Output

    init(_ label: String, _ input: Input, _ output: Output) {
        self.label = label
        self.input = input
        self.output = output
    }

    var testDescription: String { label }
}

let target = try! TargetURI("http://origin.example/a")

extension CachePolicy {
    /// A service whose configuration names half a minute for data without a lifetime, one second between retries,
    /// and a day of stale data while the origin fails.
    static var service: CachePolicy {
        var policy = CachePolicy()
        policy.expirationTime = .seconds(30)
        policy.retryTime = .seconds(1)
        policy.staleIfError = .seconds(86_400)
        return policy
    }
}
