// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
import LarderRules
import Synchronization

/// The requests of one command and its children, identified by the user in the URL of their proxy.
///
/// Trust in the local CA ends with the command, so all https hosts are intercepted without installing anything.
package final class Lane: Sendable {
    package struct Options: Sendable {
        /// The name for display.
        package var name = ""
        /// True if all https hosts are intercepted.
        package var opensAll = true
        /// True if only stored responses are used, regardless of their age.
        package var isOffline = false
        /// The recording that requests are added to, or answered from.
        package var recordingUse: RecordingUse?
        /// The user who opened it, where that is known.
        package var owner: UInt32?
        /// True if the lane has a listener, on which its user needs no token.
        package var hasDoor = false

        package init() {}
    }

    package enum RecordingUse: Sendable {
        case record(Recording)
        case replay(Replay)
    }

    /// The public name of the lane.
    package let id: String
    /// The secret by which clients prove that they belong to the lane. Never shown again.
    package let token: String
    package let options: Options
    package let began: Timestamp
    private let state: Lock<LaneCounts>
    private let active = Atomic<Int>(0)
    private let ended = Atomic<Bool>(false)

    init(_ options: Options, at now: Timestamp) {
        self.options = options
        began = now
        id = Lane.random(octets: 5)
        token = Lane.random(octets: 20)
        state = Lock(LaneCounts(last: now))
    }

    /// True if its requests are recorded.
    var records: Bool { if case .record = options.recordingUse { true } else { false } }

    package var counts: LaneCounts { state.withLock { $0 } }

    /// True if it has been closed: connections that were opened in it may still be there.
    var isOver: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }

    /// True if some of its requests have not ended: a client gets its response before that is counted.
    package var isBusy: Bool { active.load(ordering: .relaxed) > 0 }

    func requestBegan() { active.add(1, ordering: .relaxed) }
    func requestEnded() { active.subtract(1, ordering: .relaxed) }

    /// The prefix of a proxy user that names a lane.
    package static let userPrefix = "lane-"

    func count(_ record: ExchangeRecord, _ method: Method, _ uri: TargetURI, at now: Timestamp) {
        state.withLock { $0.count(record, method, uri, at: now) }
    }

    func tunnelBegan(_ authority: Authority, _ reason: TunnelReason, client: String, at now: Timestamp) {
        state.withLock { $0.tunnels.began(authority, reason, client: client, at: now) }
    }

    func tunnelEnded(_ authority: Authority, _ reason: TunnelReason, octets: Int) {
        state.withLock { $0.tunnels.ended(authority, reason, octets: octets) }
    }

    private static func random(octets: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        let made = (0..<(octets * 8 / 5)).map { _ in digits[Int.random(in: 0..<digits.count, using: &generator)] }
        return String(decoding: made, as: UTF8.self)
    }
}

/// Outcomes of a lane's requests. Bounded for any number of URLs.
package struct LaneCounts: Sendable {
    /// Responses that were not stored for one reason: their number, and an example.
    package struct Uncacheable: Sendable {
        package fileprivate(set) var requests: UInt64 = 0
        package let example: String
    }

    private static let reasonLimit = 64
    private static let hostLimit = 64

    package private(set) var kinds: [LoopCounters.Kind: UInt64] = [:]
    /// Content bytes sent to clients (`sent`), and the part of them that was not received from origins (`saved`).
    package private(set) var sent: UInt64 = 0
    package private(set) var saved: UInt64 = 0
    package private(set) var uncacheable: [String: Uncacheable] = [:]
    /// Responses that were stored, so that the next request gets them from the cache.
    package private(set) var stored: UInt64 = 0
    /// The requests that stored responses could not answer, without tunnels.
    package private(set) var missing = CountedRequests()
    /// How many of `missing` were for each host that no service covers.
    package private(set) var otherHosts: [String: UInt64] = [:]
    package internal(set) var tunnels = TunnelTable()
    package private(set) var last: Timestamp
    private var missNanoseconds: Int64 = 0
    private var hitNanoseconds: Int64 = 0

    fileprivate init(last: Timestamp) { self.last = last }

    package func value(_ kind: LoopCounters.Kind) -> UInt64 { kinds[kind] ?? 0 }

    /// Requests that stored responses could not answer.
    package var missed: UInt64 {
        value(.miss) + value(.validated) + value(.collapsed) + value(.pass) + value(.error) + value(.refused)
            + tunnels.totals.values.reduce(0) { $0 + $1.requests }
    }

    package var hits: UInt64 { value(.hit) + value(.stale) }
    package var requests: UInt64 { hits + missed + value(.aborted) }

    /// The time that hits would have taken in addition at the average duration of a miss.
    package var timeSaved: Duration {
        let misses = value(.miss) + value(.pass) + value(.validated)
        guard misses > 0, hits > 0 else { return .zero }
        let perMiss = Double(missNanoseconds) / Double(misses)
        return .nanoseconds(Int64(max(0, perMiss * Double(hits) - Double(hitNanoseconds))))
    }

    fileprivate mutating func count(
        _ record: ExchangeRecord, _ method: Method, _ uri: TargetURI, at now: Timestamp
    ) {
        last = now
        // CONNECT requests and tunnels are counted by host.
        guard record.kind != .own, record.kind != .tunnel else { return }
        kinds[record.kind, default: 0] += 1
        sent += UInt64(max(0, record.contentSent))
        switch record.kind {
        case .hit, .stale:
            hitNanoseconds += record.duration
            saved += UInt64(max(0, record.contentSent))
        case .miss, .validated, .pass:
            missNanoseconds += record.duration
            noteMissing(record, method, uri)
        case .collapsed, .error, .refused: noteMissing(record, method, uri)
        default: break
        }
        let host = uri.isEmpty ? "" : uri.authority
        if case .forward(_, status: _, stored: true, collapsed: _) = record.cacheStatus?.outcome { stored += 1 }
        guard let reason = record.unstoredWords(method) else { return }
        if uncacheable[reason] == nil {
            guard uncacheable.count < LaneCounts.reasonLimit else { return }
            uncacheable[reason] = Uncacheable(example: host)
        }
        uncacheable[reason]?.requests += 1
    }
}

extension LaneCounts {
    fileprivate mutating func noteMissing(_ record: ExchangeRecord, _ method: Method, _ uri: TargetURI) {
        guard !uri.isEmpty else { return }
        missing.add(method, uri.string)
        guard record.service == "-" else { return }
        let host = uri.host
        if otherHosts[host] != nil || otherHosts.count < LaneCounts.hostLimit { otherHosts[host, default: 0] += 1 }
    }
}

extension ExchangeRecord {
    /// Why the response was not reusable, and will not be; nil if it is.
    fileprivate func unstoredWords(_ method: Method) -> String? {
        switch kind {
        case .pass: return cacheStatus?.detail ?? "method \(method.token)"
        case .miss, .validated: return cacheStatus?.detail
        case .hit, .stale, .collapsed, .error, .refused, .tunnel, .aborted, .own: return nil
        }
    }
}
