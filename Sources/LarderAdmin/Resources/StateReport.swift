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
    private let loads: [ActiveLoad]
    private let unstored: UnstoredResponse?
    private let now: Timestamp
    /// True if a plain request for the newest variant would be answered without asking the origin.
    private let isUpToDate: Bool

    /// The largest content included in an event.
    static let contentLimit = 16 << 10

    init(_ change: ResourceChange, in proxy: Proxy, now: Timestamp) {
        self.init(
            change.snapshot.variants, failure: change.snapshot.failure, loads: change.loads,
            unstored: change.unstored, of: proxy.subject(of: change.key),
            in: Larder.Partition(change.key.partitionName), in: proxy, now: now)
    }

    /// - Parameters:
    ///   - variants: all variants, newest first, in memory or in the store.
    ///   - subject: nil where the service is gone.
    init(
        _ variants: [Variant], failure: LoadFailure?, loads: [ActiveLoad], unstored: UnstoredResponse?,
        of subject: ResourceSubject?, in partition: Larder.Partition, in proxy: Proxy, now: Timestamp
    ) {
        self.variants = variants
        self.failure = failure
        self.loads = loads
        self.unstored = unstored
        self.now = now
        let plan = subject.map { proxy.plan(for: $0, in: partition, by: variants, failure: failure, now: now) }
        isUpToDate = plan?.isUpToDate ?? false
    }

    func json(withContent: Bool) -> JSONObject {
        var state: JSONObject = [
            "isLoading": .bool(!loads.isEmpty), "isUpToDate": .bool(isUpToDate),
            "timestamp": timestamp.map { .time($0) } ?? .null,
            "latestData": latestData.map { .object(json(of: $0, withContent: withContent)) } ?? .null,
            "latestError": latestError ?? .null,
        ]
        state["loads"] = .array(loads.map(StateReport.json))
        state["variants"] = .integer(variants.count)
        return state
    }

    /// The newest variant that is not an error.
    private var latestData: Variant? { variants.first { !$0.stored.status.isError } }

    /// The failure of the last load: no response, or an error status.
    private var latestError: JSONValue? {
        if let failure { return failure.json }
        if let unstored, unstored.status.isError {
            return ["at": .time(unstored.at), "status": .integer(unstored.status.rawValue)]
        }
        guard let newest = variants.first, newest.stored.status.isError else { return nil }
        return ["at": .time(newest.stored.responseTime), "status": .integer(newest.stored.status.rawValue)]
    }

    private var timestamp: Timestamp? {
        [variants.first?.stored.responseTime, failure?.at, unstored?.at].compactMap(\.self).max()
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
        // Readers of a stream need not have the credential that selects it.
        let withContent = withContent && !stored.variance.isByCredential
        if withContent, let content = StateReport.content(of: variant) { data["content"] = content }
        return data
    }

    /// Small content that is JSON, as such, or text; nil for all others.
    private static func content(of variant: Variant) -> JSONValue? {
        guard case .memory(let chunks, let length) = variant.content, length <= contentLimit,
            !variant.served.fields.contains(.contentEncoding)
        else { return nil }
        guard let type = variant.served.fields[.contentType].flatMap({ MediaType(lenient: $0) }),
            type.isJSON || type.type == "text"
        else { return nil }
        var octets: [UInt8] = []
        for chunk in chunks { chunk.withBytes { octets.append(contentsOf: $0) } }
        if type.isJSON, let value = try? JSONValue(parsing: octets) { return value }
        return String(validating: octets, as: UTF8.self).map { .string($0) }
    }

    static func json(_ load: ActiveLoad) -> JSONValue {
        [
            "started": .time(load.startedAt), "kind": .string(load.isValidation ? "validation" : "load"),
            "clients": .integer(load.interest), "hasHead": .bool(load.isAnswered),
            "bytes": .integer(load.received),
        ]
    }
}

extension LoadFailure {
    var json: JSONValue {
        ["at": .time(at), "askedAgainFrom": .time(retryAt), "error": .string("\(error)")]
    }
}
