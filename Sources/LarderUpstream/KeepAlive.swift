// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The origin's timeout in `Keep-Alive` (RFC 2068 §19.7.1.1).
enum KeepAlive {
    /// How long a connection may be idle before the origin closes it, less a second for requests under way then: a
    /// request sent in that moment is lost, and only an idempotent one may be repeated. Nil when there is no timeout.
    static func timeout(_ fields: Fields) -> Duration? {
        var seconds: Int?
        fields.forEachElement(of: .keepAlive) { element in
            let prefix = "timeout="
            guard element.lazy.map(ASCII.lowercased).starts(with: prefix.utf8) else { return }
            let digits = element.dropFirst(prefix.utf8.count)
            guard 1...6 ~= digits.count, digits.allSatisfy(ASCII.isDigit) else { return }
            seconds = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        return seconds.map { .seconds(max($0 - 1, 0)) }
    }
}
