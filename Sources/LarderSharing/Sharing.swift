// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
package import LarderIO
import LarderProxy
package import LarderSettings
package import LarderShared
import Logging

/// This daemon's part in the shared tier, common to all loops.
package final class Sharing: Sendable {
    package let state: SharedState
    let rules: SharingRules
    private let engine: EngineSettings
    private let url: EngineURL
    private let log = Lock<LogAccess?>(nil)
    /// Shared responses that were stored before are not used.
    let floor: StoredFloor
    private let troubled = Lock<[String: String]>([:])
    /// The file of the place up to which the log was obeyed; nil if this daemon stores no responses on disk.
    private let file: PositionFile?
    private let reached = Lock<Reached>(Reached())

    private struct Reached {
        var place: LogPlace?
        /// True if the file will be written.
        var isDue = false
    }

    /// Nil where the settings name no engine. Reads `file`.
    package init?(_ settings: SharedCacheSettings, _ file: PositionFile? = nil) throws(IOError) {
        guard let url = settings.url, let key = settings.key else { return nil }
        var engine = EngineSettings(nodes: url.nodes)
        engine.isCluster = url.isCluster
        engine.username = settings.username
        engine.password = settings.password?.reveal()
        engine.timeout = settings.timeout
        if url.usesTLS {
            engine.tls = try TLSClientContext(
                authorityFiles: [settings.caFile].compactMap(\.self), applicationProtocols: [])
        }
        self.url = url
        self.engine = engine
        rules = SharingRules(choice: settings.share, limit: Int64(settings.maxObject.bytes))
        state = SharedState(namespace: settings.namespace, secret: Array(key.reveal().utf8))
        self.file = file
        let place = file?.read()
        floor = StoredFloor(nanoseconds: place?.floor ?? .min)
        if let place { reached.withLock { $0.place = place.log } }
    }

    /// A way to the engine from a loop.
    ///
    /// - Parameter logger: for the ways of which the log is to say whether they work.
    func makeEngine(on loop: EventLoop, _ connector: Connector, logger: Logger? = nil) -> Engine {
        let tls = engine.tls
        let name = loop.name
        return Engine(
            on: loop, engine,
            dial: { node, timeout async throws(IOError) in try await connector.dial(node, tls: tls, within: timeout) },
            changed: { [weak self] node, isUsable, reason in
                self?.note("\(name) \(node)", isUsable ? nil : reason)
                guard let logger, !reason.isEmpty else { return }
                if isUsable {
                    logger.notice("the shared tier can be used again", metadata: ["node": "\(node)"])
                } else {
                    logger.warning(
                        "the shared tier fails and is left alone until it recovers",
                        metadata: ["node": "\(node)", "error": "\(reason)"])
                }
            })
    }

    private func note(_ way: String, _ trouble: String?) { troubled.withLock { $0[way] = trouble } }

    // MARK: Invalidations

    /// The log, which lives on a loop.
    struct LogAccess: Sendable {
        /// Has it send the waiting messages.
        let send: @Sendable () -> Void
        let close: @Sendable () -> Void
    }

    func attach(_ log: LogAccess) { self.log.withLock { $0 = log } }
    func detach() { log.withLock { $0.take() }?.close() }

    /// Has other daemons make this one's invalidations.
    func post(_ subject: LogMessage.Subject, at now: Int64) {
        state.post(subject, at: now)
        log.withLock { $0 }?.send()
    }

    /// The place at which to resume reading the log; nil if it is unknown.
    var place: LogPlace? { reached.withLock { $0.place } }

    /// The least time between two writes of the place.
    private static let writeTime = Duration.seconds(1)

    /// Everything up to `place` was obeyed. To be called on `loop`.
    ///
    /// - Parameter isCommitted: returns true once all removals until now are on the disk.
    func reached(
        _ place: LogPlace, on loop: EventLoop, writers: WorkerPool, isCommitted: @escaping @Sendable () async -> Bool
    ) {
        let isFirst = reached.withLock { reached in
            reached.place = place
            defer { reached.isDue = true }
            return !reached.isDue
        }
        guard isFirst, let file else { return }
        loop.timerHere(after: Sharing.writeTime) { [weak self] in
            loop.startHere { [weak self] in
                guard let self else { return }
                // The place of this instant: removals for later messages may not be committed.
                let written = PositionFile.Place(
                    log: self.place ?? place, floor: self.floor.nanoseconds)
                if await isCommitted() { _ = try? await writers.run { file.write(written) } }
                let next = self.reached.withLock { reached in
                    reached.isDue = false
                    return reached.place
                }
                guard let next, next.position != written.log.position else { return }
                self.reached(next, on: loop, writers: writers, isCommitted: isCommitted)
            }
        }
    }

    // MARK: Reporting

    /// The present state, for status and metrics.
    package struct Report: Sendable {
        package let url: String
        package let namespace: String
        /// True if invalidations of others are heard of, without which the tier is not asked.
        package let isFollowed: Bool
        /// The engine's error message; nil when nothing fails.
        package let trouble: String?
        package let counts: [(name: String, value: Int)]
    }

    package func report(at now: Int64) -> Report {
        let counters = state.counters
        let trouble = troubled.withLock { $0.sorted { $0.key < $1.key }.first?.value }
        return Report(
            url: "\(url)", namespace: state.keys.namespace, isFollowed: state.followsLog(at: now), trouble: trouble,
            counts: SharedCounters.Kind.allCases.map { ("\($0)", counters[$0]) })
    }
}
