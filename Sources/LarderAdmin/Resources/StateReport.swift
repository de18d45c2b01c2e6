// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// The state of a resource in the model's words (model: 3.4): data, error and loading are independent of each other.
struct StateReport {
    /// Newest first.
    private let variants: [Variant]
    private let failure: LoadFailure?
    private let flights: [Flight]
    private let unstored: UnstoredResponse?
    private let now: Timestamp

    /// The largest content included in an event.
    static let contentLimit = 16 << 10

    init(_ change: ResourceChange, now: Timestamp) {
        self.init(
            change.snapshot.variants, failure: change.snapshot.failure, flights: change.flights,
            unstored: change.unstored, now: now)
    }

    /// - Parameter variants: all variants, newest first, in memory or in the store.
    init(
        _ variants: [Variant], failure: LoadFailure?, flights: [Flight], unstored: UnstoredResponse?, now: Timestamp
    ) {
        self.variants = variants
        self.failure = failure
        self.flights = flights
        self.unstored = unstored
        self.now = now
    }

    func json(withContent: Bool) -> JSONObject {
        var state: JSONObject = [
            "isLoading": .bool(!flights.isEmpty), "isUpToDate": .bool(isUpToDate),
            "timestamp": timestamp.map { .time($0) } ?? .null,
            "latestData": latestData.map { .object(json(of: $0, withContent: withContent)) } ?? .null,
            "latestError": latestError ?? .null,
        ]
        state["loads"] = .array(flights.map(StateReport.json))
        state["variants"] = .integer(variants.count)
        return state
    }

    /// The newest variant that is not an error.
    private var latestData: Variant? { variants.first { !$0.stored.status.isError } }

    /// The failure of the last load: no response, or an error status.
    private var latestError: JSONValue? {
        if let failure {
            return [
                "at": .time(failure.at), "askedAgainFrom": .time(failure.retryAt), "error": .string("\(failure.error)"),
            ]
        }
        if let unstored, unstored.status.isError {
            return ["at": .time(unstored.at), "status": .integer(unstored.status.rawValue)]
        }
        guard let newest = variants.first, newest.stored.status.isError else { return nil }
        return ["at": .time(newest.stored.responseTime), "status": .integer(newest.stored.status.rawValue)]
    }

    private var timestamp: Timestamp? {
        [variants.first?.stored.responseTime, failure?.at, unstored?.at].compactMap(\.self).max()
    }

    /// Whether a plain request would be answered without asking the origin.
    private var isUpToDate: Bool {
        if let newest = variants.first?.stored, Reuse.isUpToDate(newest, at: now) { return true }
        return failure.map { now < $0.retryAt } ?? false
    }

    private func json(of variant: Variant, withContent: Bool) -> JSONObject {
        let (stored, served) = (variant.stored, variant.served)
        var data: JSONObject = [
            "status": .integer(served.status.rawValue), "bytes": .integer(variant.content.length),
            "timestamp": .time(stored.responseTime), "age": .integer(Age.currentAge(of: stored, at: now).wholeSeconds),
        ]
        for (name, field) in [
            ("contentType", FieldName.contentType), ("eTag", .eTag), ("lastModified", .lastModified),
        ] {
            if let value = served.fields[field] { data[name] = .string(value) }
        }
        if variant.isOverride { data["isOverride"] = true }
        if variant.isWritten { data["isWritten"] = true }
        if withContent, let content = StateReport.content(of: variant) { data["content"] = content }
        return data
    }

    /// Small content that is JSON, as such, or text; nil for all others.
    private static func content(of variant: Variant) -> JSONValue? {
        guard case .memory(let chunks, let length) = variant.content, length <= contentLimit,
            !variant.served.fields.contains(.contentEncoding)
        else { return nil }
        let type = variant.served.fields[.contentType]?.lowercased().prefix { $0 != ";" } ?? ""
        let isJSON = type.hasSuffix("/json") || type.hasSuffix("+json")
        guard isJSON || type.hasPrefix("text/") else { return nil }
        var octets: [UInt8] = []
        for chunk in chunks { chunk.withBytes { octets.append(contentsOf: $0) } }
        if isJSON, let value = try? JSONValue(parsing: octets) { return value }
        return String(validating: octets, as: UTF8.self).map { .string($0) }
    }

    static func json(_ flight: Flight) -> JSONValue {
        [
            "started": .time(flight.startedAt), "kind": .string(flight.isValidation ? "validation" : "load"),
            "clients": .integer(flight.interest), "hasHead": .bool(flight.isAnswered),
            "bytes": .integer(flight.received),
        ]
    }
}
