// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream
import Logging

/// Sends spans to a collector, over OTLP/HTTP in its JSON encoding.
///
/// Spans wait in a bounded queue, so that a slow or absent collector does not affect requests: spans that do not fit
/// are dropped and counted. One loop at a time sends a batch.
package final class TraceExporter: Sendable {
    /// The totals since the start, in spans.
    package struct Counts: Sendable, Equatable {
        package var exported: UInt64 = 0
        package var dropped: UInt64 = 0
    }

    private struct State {
        var spans: [Span] = []
        var counts = Counts()
        /// True if a loop sends, or will.
        var isScheduled = false
        /// The end of the time in which failures are not logged, in monotonic nanoseconds.
        var silentUntil = Int64.min
        /// The dropped spans that were logged.
        var told: UInt64 = 0
    }

    private enum Outcome {
        case accepted(rejected: UInt64, String)
        /// The collector may accept it later.
        case postponed(String)
        case refused(String)
    }

    private let state = Lock(State())

    /// The most spans that wait.
    static let limit = 8_192
    static let batchSize = 512
    /// How long spans wait for others.
    static let interval = Duration.seconds(1)
    /// How long a collector that fails is left alone.
    static let pause = Duration.seconds(5)
    private static let patience = Duration.seconds(10)
    /// How long the daemon's end may be delayed.
    private static let lastPatience = Duration.seconds(2)
    /// Nanoseconds between two lines in the log.
    private static let silence: Int64 = 60_000_000_000

    package init() {}

    package var counts: Counts { state.withLock { $0.counts } }

    func add(_ span: Span, from context: LoopContext) {
        let isFirst = state.withLock { state in
            guard state.spans.count < Self.limit else {
                state.counts.dropped += 1
                return false
            }
            state.spans.append(span)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { schedule(after: Self.interval, on: context) }
    }

    /// Sends what waits, before the daemon ends.
    func finish(from context: LoopContext) async {
        while let batch = take() {
            guard await deliver(batch, within: Self.lastPatience, from: context) else { break }
        }
    }

    private func schedule(after delay: Duration, on context: LoopContext) {
        context.loop.timerHere(after: delay) { [weak context] in
            guard let context else { return }
            context.spawn { await self.sendAll(from: context) }
        }
    }

    private func sendAll(from context: LoopContext) async {
        while let batch = take() {
            guard await deliver(batch, within: Self.patience, from: context) else {
                return schedule(after: Self.pause, on: context)
            }
        }
    }

    /// Nil when nothing waits; then the next span schedules again.
    private func take() -> [Span]? {
        state.withLock { state in
            guard !state.spans.isEmpty else {
                state.isScheduled = false
                return nil
            }
            let batch = Array(state.spans.prefix(Self.batchSize))
            state.spans.removeFirst(batch.count)
            return batch
        }
    }

    /// The batch is the next one again, as far as there is room.
    private func putBack(_ batch: [Span]) {
        state.withLock { state in
            let kept = batch.prefix(max(0, Self.limit - state.spans.count))
            state.spans.insert(contentsOf: kept, at: 0)
            state.counts.dropped += UInt64(batch.count - kept.count)
        }
    }

    // MARK: Sending

    /// False when the collector is to be left alone for a while.
    private func deliver(_ batch: [Span], within patience: Duration, from context: LoopContext) async -> Bool {
        let count = UInt64(batch.count)
        guard let collector = Collector(context.configuration) else {
            state.withLock { $0.counts.dropped += count }
            return true
        }
        let outcome = await send(batch, to: collector, within: patience, from: context)
        switch outcome {
        case .accepted(let rejected, let reason):
            state.withLock { state in
                state.counts.exported += count - min(rejected, count)
                state.counts.dropped += min(rejected, count)
            }
            note(reason, collector, context)
            return true
        case .refused(let reason):
            state.withLock { $0.counts.dropped += count }
            note(reason, collector, context)
            return true
        case .postponed(let reason):
            putBack(batch)
            note(reason, collector, context, isFailure: true)
            return false
        }
    }

    private func send(
        _ batch: [Span], to collector: Collector, within patience: Duration, from context: LoopContext
    ) async -> Outcome {
        let text = OTLPText.request(batch, service: context.configuration.settings.trace.serviceName)
        do {
            do {
                return try await post(text, to: collector, within: patience, from: context)
            } catch let error as UpstreamError where error.code == .aborted {
                return .postponed("no answer within \(patience.wholeSeconds) s")
            } catch let error as UpstreamError where error.mayRetry {
                // The collector closed an idle connection.
                return try await post(text, to: collector, within: patience, from: context)
            }
        } catch {
            return .postponed("\(error)")
        }
    }

    private func post(
        _ text: String, to collector: Collector, within patience: Duration, from context: LoopContext
    ) async throws -> Outcome {
        let request = collector.request(text, from: context)
        let timer = context.loop.timerHere(after: patience) { request.abort.abort() }
        defer { timer.cancel() }
        // Not as a request to an origin: it is not counted, and starts no backoff.
        let response = try await context.upstream.send(request)
        let status = response.head.status
        guard try await response.readAhead(upTo: Collector.answerLimit) else {
            response.abort()
            return status.isSuccess ? .accepted(rejected: 0, "") : .refused("the collector answered \(status)")
        }
        switch status {
        case _ where status.isSuccess:
            let rejection = Collector.rejection(in: response.contentHere)
            return .accepted(rejected: rejection?.spans ?? 0, rejection?.reason ?? "")
        case 408, 429, 502, 503, 504: return .postponed("the collector answered \(status)")
        default: return .refused("the collector answered \(status)")
        }
    }

    /// Logs failures and dropped spans, at most once a minute.
    private func note(_ reason: String, _ collector: Collector, _ context: LoopContext, isFailure: Bool = false) {
        let now = context.loop.time.monotonic()
        let dropped = state.withLock { state -> UInt64? in
            guard isFailure || state.counts.dropped > state.told, now >= state.silentUntil else { return nil }
            state.silentUntil = now + Self.silence
            defer { state.told = state.counts.dropped }
            return state.counts.dropped - state.told
        }
        guard let dropped else { return }
        context.proxy.logger.warning(
            "traces were not delivered",
            metadata: [
                "collector": "\(collector.uri)", "dropped": "\(dropped)",
                "error": "\(reason.isEmpty ? "more spans than the collector takes" : reason)",
            ])
    }
}

/// The collector of the settings.
private struct Collector {
    let uri: TargetURI
    let headers: [HeaderEdit]

    /// Longer responses are not read.
    static let answerLimit = 64 << 10

    init?(_ configuration: ProxyConfiguration) {
        let settings = configuration.settings.trace
        guard let base = settings.otlp, let uri = Self.place(below: base) else { return nil }
        self.uri = uri
        headers = settings.headers
    }

    /// `/v1/traces` below the base, unless it ends in that already.
    private static func place(below base: BaseURL) -> TargetURI? {
        let text = base.target.string
        return try? TargetURI(text.hasSuffix("/v1/traces/") ? String(text.dropLast()) : text + "v1/traces")
    }

    func request(_ text: String, from context: LoopContext) -> UpstreamRequest {
        var fields = Fields()
        fields[.host] = uri.authority
        fields[.userAgent] = "Larder/\(LarderVersion.current)"
        fields[.contentType] = "application/json"
        for header in headers { fields[header.name] = header.value?.reveal() }
        // If the collector is this Larder, or is reached through it, each batch would cause a span, and so a batch.
        fields[TraceContext.parentField] = TraceContext.unrecorded().text
        var request = UpstreamRequest(
            origin: Origin(uri), head: RequestHead(method: .post, target: uri.pathAndQuery, fields: fields),
            parent: context.configuration.router.table.unclaimed.parent(uri))
        request.content = .octets(ContentChunk(Array(text.utf8)))
        return request
    }

    /// How many spans the collector did not take, and why (OTLP's partial success).
    static func rejection(in content: [ContentChunk]) -> (spans: UInt64, reason: String)? {
        let octets = content.flatMap { Array($0.bytes) }
        guard !octets.isEmpty, let partial = try? JSONValue(parsing: octets)["partialSuccess"],
            // 64-bit numbers are texts; some collectors write numbers.
            let rejected = partial["rejectedSpans"].flatMap({ $0.int ?? $0.string.flatMap { Int($0) } }), rejected > 0
        else { return nil }
        return (UInt64(rejected), partial["errorMessage"]?.string ?? "the collector rejected spans")
    }
}
