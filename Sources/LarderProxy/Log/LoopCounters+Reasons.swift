// SPDX-License-Identifier: Apache-2.0

package import LarderRules

extension LoopCounters {
    /// The reason of an outcome, in the words of the decision itself. The list is closed: messages of clients and
    /// origins never create another label.
    package enum Reason: Sendable, Hashable {
        /// Why a request was forwarded.
        case forwarded(ForwardReason)
        /// Why a stale response was used.
        case stale(StaleReason)
        /// Why a response was not stored.
        case unstored(UnstoredReason)
        /// The type of the error that Larder generated as its answer.
        case problem(ProxyStatus.ErrorType)

        package static let all: [Reason] =
            ForwardReason.allCases.map(Reason.forwarded) + StaleReason.allCases.map(Reason.stale)
            + UnstoredReason.all.map(Reason.unstored) + ProxyStatus.ErrorType.allCases.map(Reason.problem)

        // An enumeration with strings as raw values hashes the string: comparing a few cases takes less time.
        fileprivate var place: Int? { Reason.all.firstIndex(of: self) }
    }

    package func count(_ reason: Reason) {
        if let place = reason.place { addReason(at: place) }
    }

    package func value(_ reason: Reason) -> UInt64 { reason.place.map { self.reason(at: $0) } ?? 0 }

    /// Counts the reason of the outcome in `record`. A fresh hit has no reason, and costs nothing.
    func countReasons(of record: ExchangeRecord) {
        if let problem = record.problem { count(.problem(problem.proxyError)) }
        guard let status = record.cacheStatus else { return }
        if case .forward(let reason, _, _, _) = status.outcome { count(.forwarded(reason)) }
        guard record.kind == .stale, let detail = status.detail else { return }
        if let reason = StaleReason(rawValue: detail) { count(.stale(reason)) }
    }
}

extension ExchangeRecord {
    /// The reason of the outcome in one word: the error, the reason to forward, the reason a stale response was used,
    /// or `fresh`.
    var reason: String {
        if let problem { return problem.proxyError.rawValue }
        guard let cacheStatus else { return "-" }
        if let detail = cacheStatus.detail, StaleReason(rawValue: detail) != nil { return detail }
        switch cacheStatus.outcome {
        case .hit: return cacheStatus.detail ?? "fresh"
        case .forward(let reason, _, _, _): return reason.rawValue
        case .held: return cacheStatus.detail ?? "held"
        case .unused: return cacheStatus.detail ?? "-"
        }
    }
}
