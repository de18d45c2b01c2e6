// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// The state of one stored variant at a moment.
struct VariantReport {
    let variant: Variant
    let now: Timestamp
    /// True if it is in the partition of one user.
    var isForOne = false

    private var stored: StoredResponse { variant.stored }
    var age: Duration { Age.currentAge(of: stored, at: now) }
    var ttl: Duration { Freshness.remaining(stored, at: now) }

    /// The state of the variant in one word: the outcome of the next plain request for it.
    var state: String {
        if stored.standing != .asReceived { return "invalidated" }
        if stored.isPartial { return "partial" }
        if stored.facts.validatesAlways { return "validated each time" }
        guard Freshness.isFresh(stored, at: now) else { return "stale" }
        return variant.isOverride ? "overridden" : variant.isWritten ? "written" : "fresh"
    }

    /// The remaining lifetime, negative when it is over; nil for variants that are always validated.
    var shownTTL: Int64? {
        stored.standing == .asReceived && !stored.facts.validatesAlways ? ttl.flooredSeconds : nil
    }

    /// The place of the content.
    var place: String {
        switch variant.content {
        case .memory: "memory"
        case .store: "disk"
        }
    }

    var json: JSONValue {
        let facts = stored.facts
        var object: JSONObject = [
            "state": .string(state),
            "status": .integer(variant.served.status.rawValue),
            "bytes": .integer(variant.content.length),
            "content": .string(place),
            "age": .integer(age.wholeSeconds),
            "ttl": shownTTL.map { .integer($0) } ?? .null,
            "lifetime": [
                "seconds": .seconds(facts.lifetime.duration),
                "from": .string(variant.isOverride ? "the override" : facts.lifetime.source.words),
                "ageOnReceiptSeconds": .seconds(facts.correctedInitialAge),
                "residentSeconds": .seconds(max(.zero, now - stored.responseTime)),
            ],
            "requested": .time(stored.requestTime),
            "received": .time(stored.responseTime),
        ]
        if stored.standing == .asReceived, facts.freshUntil.nanoseconds != .min {
            object["freshUntil"] = .time(facts.freshUntil)
        }
        if let prohibition = facts.staleProhibition {
            object["neverStaleBecause"] = .string(prohibition.rawValue)
        } else if facts.staleWhileRevalidate > .zero {
            object["staleWhileRevalidateSeconds"] = .seconds(facts.staleWhileRevalidate)
        }
        object["validators"] = .strings(validators)
        object["override"] = variant.isOverride ? true : nil
        object["written"] = variant.isWritten ? true : nil
        if stored.isPartial { object["partial"] = true }
        if let length = stored.lengthOfWhole { object["completeBytes"] = .integer(length) }
        if let rendition = variant.rendition, !rendition.isOverride {
            object["transformed"] = [
                "originStatus": .integer(rendition.originStatus.rawValue),
                "countsAsData": .bool(rendition.isPromoted || !rendition.originStatus.isError),
            ]
        }
        if let pace = variant.pace {
            object["stream"] = ["seconds": .seconds(pace.duration), "marks": .integer(Int64(pace.marks.count))]
        }
        if stored.requestWasAuthorized { object["requestWasAuthorized"] = true }
        object["selectedBy"] = .strings(selectors)
        object["fields"] = ShownFields.lines(json: variant.served.fields, areForOne: isForOne)
        return .object(object)
    }

    var validators: [String] { VariantReport.validators(of: stored) }

    static func validators(of stored: StoredResponse) -> [String] {
        var names: [String] = []
        if stored.facts.eTag != nil { names.append("ETag") }
        if stored.facts.lastModified != nil { names.append("Last-Modified") }
        return names
    }

    /// The request fields that select this variant, with their values.
    var selectors: [String] {
        if stored.variance.matchesNothing { return ["Vary: * (no request)"] }
        return stored.variance.selectors.map { selector in
            let value = selector.value.map { String(latin1: $0) }
            let shown = value.map { isForOne ? ShownFields.redacted : ShownFields.value($0, of: selector.name) }
            return "\(selector.name): \(shown ?? "(absent)")"
        }
    }
}

extension StoredResponse {
    /// The length of the representation that a part is stored of, if it is known; nil for a whole one.
    var lengthOfWhole: Int64? {
        if case .parts(_, let completeLength) = extent { completeLength } else { nil }
    }
}

extension Freshness.Source {
    /// The source in words.
    var words: String {
        switch self {
        case .sMaxage: "s-maxage"
        case .maxAge: "max-age"
        case .expires: "Expires"
        case .heuristic: "a tenth of the time since Last-Modified"
        case .expirationTime: "expirationTime of the configuration"
        case .retryTime: "retryTime of the configuration"
        case .none: "nothing names one"
        }
    }
}

extension Duration {
    /// Whole seconds, rounded down, as `Cache-Status` counts them.
    var flooredSeconds: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds < 0 ? seconds - 1 : seconds
    }
}

/// Field lines as the admin surface shows them: without identities and credentials.
enum ShownFields {
    static let redacted = "[redacted]"

    /// The value of that field, or a placeholder; URLs in it without theirs.
    static func value(_ value: String, of name: FieldName) -> String {
        SecretName.isOne(field: name) ? redacted : SecretText.scrubbed(value, of: name)
    }

    /// Each line as `Name: value`, in order.
    static func lines(_ fields: Fields) -> [String] {
        var lines: [String] = []
        fields.forEachLine { _, spelling, octets in
            let name = FieldName(token: spelling)
            let text = String(latin1: octets)
            lines.append("\(String(decoding: spelling, as: UTF8.self)): \(value(text, of: name))")
        }
        return lines
    }

    /// - Parameter areForOne: whether the response is for one user: its fields that do not concern caches may be secrets.
    static func lines(json fields: Fields, areForOne: Bool) -> JSONValue {
        var shown = fields
        if areForOne {
            shown.removeAll { name, spelling, _ in !harmless.contains(name ?? FieldName(token: spelling)) }
        }
        return .strings(lines(shown))
    }

    private static let harmless: Set<FieldName> = [
        .age, .cacheControl, .contentEncoding, .contentLength, .contentRange, .contentType, .date, .eTag, .expires,
        .lastModified, .pragma, .vary, .via, "Accept-Ranges", "Content-Language", "Server",
    ]
}
