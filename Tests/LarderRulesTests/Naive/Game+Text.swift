// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

// Decisions as the naive cache writes them.

private func milliseconds(_ duration: Duration) -> Int { Int(duration.wholeNanoseconds / 1_000_000) }

private func text(_ selection: ReuseDecision.Selection) -> String {
    "#\(selection.index) age \(milliseconds(selection.age)) ttl \(milliseconds(selection.ttl))"
}

extension ReuseDecision {
    var text: String {
        switch self {
        case .answer(let selection): "answer " + LarderRulesTests.text(selection)
        case .answerStale(let selection, let reason): "stale \(reason.rawValue) " + LarderRulesTests.text(selection)
        case .validate(let selection, let reason): "validate \(reason.rawValue) " + LarderRulesTests.text(selection)
        case .forward(let reason, nil): "forward \(reason.rawValue)"
        case .forward(let reason, let fallback?): "forward \(reason.rawValue) " + LarderRulesTests.text(fallback)
        case .refuse(let reason): "refuse \(reason.rawValue)"
        }
    }

    /// The text without the response that was selected.
    var kind: String { trim(String(text.prefix { $0 != "#" })) }
}

extension StorabilityDecision {
    var text: String {
        switch self {
        case .store(_, let durability): "store \(durability.rawValue)"
        case .doNotStore(let condition): condition.rawValue
        }
    }
}

extension FresheningDecision {
    var text: String {
        switch self {
        case .updated: "kept"
        case .discard(_, let condition): condition.rawValue
        case .unstored: "unstored"
        case .confirmed: "confirmed"
        case .stale(_, let reason): reason.rawValue
        case .untouched(let reason): reason.rawValue
        }
    }
}

extension StaleUseDecision {
    var text: String {
        switch self {
        case .serve(let age, let ttl, _): "yes age \(milliseconds(age)) ttl \(milliseconds(ttl))"
        case .doNotServe(.notAnError): "no: not an error"
        case .doNotServe(.forbidden(let prohibition)): "no: \(prohibition.rawValue)"
        case .doNotServe(.request): "no: request"
        case .doNotServe(.tooStale): "no: too stale"
        }
    }
}

extension PreconditionDecision {
    var text: String {
        switch self {
        case .proceed: "proceed"
        case .notModified: "304"
        case .preconditionFailed: "412"
        }
    }
}

extension RangeDecision {
    var text: String {
        switch self {
        case .whole: "whole"
        case .single(let range, _): "\(range.first)-\(range.last)"
        case .multiple(let ranges, _): "\(ranges)"
        case .unsatisfiable: "unsatisfiable"
        }
    }
}

extension InvalidationDecision {
    var paths: [String] {
        switch self {
        case .none: []
        case .invalidate(let uris, _): uris.map(\.path)
        }
    }
}

extension RequestHead {
    init(_ message: NaiveMessage) {
        self.init(method: Method(message.method) ?? .get, target: "/a", fields: Fields(lines: message.lines))
    }
}

extension ResponseHead {
    init(_ message: NaiveMessage) { self.init(status: Status(message.status), fields: Fields(lines: message.lines)) }
}

extension CachePolicy {
    init(_ naive: NaivePolicy) {
        self.init()
        role = naive.isShared ? .shared : .private
        expirationTime = naive.expirationTime.map { .milliseconds($0) }
        expirationMode = ExpirationMode(rawValue: naive.mode) ?? .fallback
        retryTime = .milliseconds(naive.retryTime)
        staleWhileRevalidate = .milliseconds(naive.staleWhileRevalidate)
        staleIfError = .milliseconds(naive.staleIfError)
        targets = naive.targets.compactMap { FieldName($0) }
        offline = naive.isOffline
        storesAuthorized = naive.storesAuthorized
    }
}
