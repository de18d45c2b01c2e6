// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import RawStructuredFieldValues

extension RetryAfter {
    /// How long a response asks its client not to send another request; nil when it does not.
    ///
    /// Only refusals count: 429 (RFC 6585 §4), 503 (RFC 9110 §15.6.4), and the 403 that some APIs send in place of 429.
    /// A successful response that reports an empty quota does not: an API may have several quotas, and one says nothing
    /// about the others.
    package static func pause(_ response: ResponseHead, now: Timestamp) -> Duration? {
        let fields = response.fields
        let pause: Duration?
        switch response.status.rawValue {
        case 503: pause = delay(fields, now: now)
        // Retry-After takes precedence over the fields of quotas (draft-ietf-httpapi-ratelimit-headers).
        case 403, 429: pause = delay(fields, now: now) ?? RateLimit.exhausted(fields, now: now)
        default: return nil
        }
        return pause.flatMap { $0 > .zero ? $0 : nil }
    }
}

/// Request quotas reported in responses, in the forms that are in use.
package enum RateLimit {
    /// How long a used-up quota remains so; nil when none is, or when the reset is unknown.
    package static func exhausted(_ fields: Fields, now: Timestamp) -> Duration? {
        structured(fields) ?? plain(fields, "RateLimit-Remaining", "RateLimit-Reset", now: now)
            ?? plain(fields, "X-RateLimit-Remaining", "X-RateLimit-Reset", now: now)
    }

    /// The rest of a quota until its reset.
    package struct Left: Sendable, Equatable {
        package var remaining: Int64
        /// The total number of requests, if reported.
        package var limit: Int64?
        package var reset: Duration
        /// Which of the origin's quotas it is: what the origin calls it, up to 64 bytes of that, or how many requests it
        /// permits in all.
        package var name: String

        /// A name is kept for each quota of each credential.
        private static let longestName = 64

        package init(remaining: Int64, limit: Int64? = nil, reset: Duration, name: String? = nil) {
            (self.remaining, self.limit, self.reset) = (remaining, limit, reset)
            self.name = name.map { String($0.prefix(Left.longestName)) } ?? limit.map { String($0) } ?? ""
        }
    }

    /// The remaining quota reported by a response; of several, the smallest.
    package static func left(_ fields: Fields, now: Timestamp) -> Left? {
        if let value = fields[rateLimit] {
            guard var list = BoundedParsing.parser(value, isDictionary: true) else { return nil }
            let quotas = (try? list.parseListFieldValue()) ?? []
            let told = quotas.compactMap { quota -> Left? in
                guard case .item(let item) = quota, let left = integer(item.rfc9651Parameters["r"]),
                    let reset = integer(item.rfc9651Parameters["t"]).flatMap({ seconds($0) }), left >= 0
                else { return nil }
                var name: String?
                if case .string(let told) = item.rfc9651BareItem { name = told }
                return Left(remaining: left, reset: reset, name: name)
            }
            if let least = told.min(by: { $0.remaining < $1.remaining }) { return least }
            var dictionary = StructuredFieldValueParser(Array(value.utf8))
            guard let quota = try? dictionary.parseDictionaryFieldValue(), case .item(let left)? = quota["remaining"],
                let remaining = integer(left.rfc9651BareItem), remaining >= 0, case .item(let item)? = quota["reset"],
                let reset = integer(item.rfc9651BareItem).flatMap({ seconds($0) })
            else { return nil }
            var limit: Int64?
            if case .item(let item)? = quota["limit"] { limit = integer(item.rfc9651BareItem) }
            return Left(remaining: remaining, limit: limit, reset: reset)
        }
        for (limit, left, reset, resource) in plainNames {
            guard let remaining = number(fields, left), let reset = number(fields, reset) else { continue }
            guard let pause = wait(until: reset, now: now) else { continue }
            let name = resource.flatMap { fields[$0] }.map { String($0.prefix(64)) }
            return Left(remaining: remaining, limit: number(fields, limit), reset: pause, name: name)
        }
        return nil
    }

    /// `RateLimit: "default";r=0;t=30`, a List of quotas of which the last to recover counts; or, as an earlier draft
    /// had it, the Dictionary `RateLimit: limit=100, remaining=0, reset=30`.
    private static func structured(_ fields: Fields) -> Duration? {
        guard let value = fields[rateLimit] else { return nil }
        guard var list = BoundedParsing.parser(value, isDictionary: true) else { return nil }
        if let quotas = try? list.parseListFieldValue() {
            let waits = quotas.compactMap { quota -> Int64? in
                guard case .item(let item) = quota, integer(item.rfc9651Parameters["r"]) == 0 else { return nil }
                return integer(item.rfc9651Parameters["t"])
            }
            if let longest = waits.max() { return seconds(longest) }
        }
        var dictionary = StructuredFieldValueParser(Array(value.utf8))
        guard let quota = try? dictionary.parseDictionaryFieldValue(), case .item(let left)? = quota["remaining"],
            integer(left.rfc9651BareItem) == 0, case .item(let reset)? = quota["reset"]
        else { return nil }
        return integer(reset.rfc9651BareItem).flatMap { seconds($0) }
    }

    /// Two numbers in fields of their own.
    private static func plain(
        _ fields: Fields, _ remaining: FieldName, _ reset: FieldName, now: Timestamp
    ) -> Duration? {
        guard number(fields, remaining) == 0, let reset = number(fields, reset) else { return nil }
        return wait(until: reset, now: now)
    }

    /// A reset is a number of seconds, or a Unix time where it could be nothing else: in seconds, or in milliseconds.
    private static func wait(until reset: Int64, now: Timestamp) -> Duration? {
        if reset < 1_000_000_000 { return seconds(reset) }
        let time = reset < 100_000_000_000 ? reset : reset / 1_000
        return (Timestamp(seconds: time) - now).clampedToRFC9111()
    }

    private static func number(_ fields: Fields, _ name: FieldName) -> Int64? {
        fields.count(of: name) == 1 ? fields.withFirst(name) { Int64(decimal: $0) } ?? nil : nil
    }

    private static func integer(_ item: RFC9651BareItem?) -> Int64? {
        if case .integer(let value)? = item { value } else { nil }
    }

    private static func seconds(_ value: Int64) -> Duration? {
        value < 0 ? nil : .seconds(min(value, DeltaSeconds.infinity))
    }

    private static let rateLimit: FieldName = "RateLimit"
    /// Limit, remaining quota, reset, and which of the quotas it is.
    private static let plainNames: [(FieldName, FieldName, FieldName, FieldName?)] = [
        ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", nil),
        ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Resource"),
    ]
}
