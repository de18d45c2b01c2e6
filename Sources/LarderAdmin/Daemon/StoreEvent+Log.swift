// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderProxy
import LarderStores
import Logging

/// The log of a store: of what happens to one entity after the other, a line in ten seconds.
final class StoreLog: Sendable {
    private enum Subject {
        case reading, damage
    }

    private let logger: Logger
    private let time: any TimeSource
    private let lines = Lock(RepeatedLines<Subject>())

    init(_ logger: Logger, _ time: any TimeSource) {
        self.logger = logger
        self.time = time
    }

    func note(_ event: StoreEvent) {
        let subject: Subject
        switch event {
        case .readFailed: subject = .reading
        case .damagedEntity, .damagedContent: subject = .damage
        default: return event.log(to: logger)
        }
        let now = time.monotonic()
        guard let logger = lines.withLock({ $0.logger(logger, about: subject, at: now) }) else { return }
        event.log(to: logger)
    }
}

extension StoreEvent {
    /// Logs the event at its level.
    fileprivate func log(to logger: Logger) {
        switch self {
        case .migrated(let steps):
            logger.notice(
                "the cache of an earlier version was migrated", metadata: ["steps": "\(steps.joined(separator: "; "))"])
        case .keysLoaded(let count): logger.debug("the stored keys are known", metadata: ["count": "\(count)"])
        case .orphansRemoved(let files):
            logger.info("left-overs of an earlier run were deleted", metadata: ["files": "\(files)"])
        case .degraded(let reason):
            logger.error(
                "the cache on disk cannot be written; what is there is still read", metadata: ["reason": "\(reason)"])
        case .recovered: logger.notice("the cache on disk can be written again")
        case .setAside(let path, let reason):
            logger.error(
                "the database was damaged and is kept under another name; a new one was begun",
                metadata: ["path": "\(path)", "reason": "\(reason)"])
        case .logLost:
            logger.error(
                "the database's log (-wal) was deleted or replaced while it was used; both were brought together")
        case .databaseLost:
            logger.error("the database was deleted or replaced while it was used; a new one was begun")
        case .damagedEntity(let url, let reason):
            logger.warning(
                "a damaged entity was removed",
                metadata: ["url": "\(SecretText.logged(url: url).prefix(1_024))", "reason": "\(reason)"])
        case .damagedContent(let digest, let reason):
            logger.warning(
                "damaged content was removed", metadata: ["digest": "\(digest.hexadecimal)", "reason": "\(reason)"])
        case .impossibleRows: logger.warning("damaged rows with impossible numbers were removed")
        case .keyLost:
            logger.error(
                "the key by which stored content is checked was lost; what was stored before is not used any more")
        case .pinsYielded:
            logger.warning("the disk is full of what is pinned, and some of that was evicted; unpin some of it")
        case .readFailed(let reason):
            logger.warning(
                "reading from the cache on disk failed; it counted as a miss", metadata: ["reason": "\(reason)"])
        case .writeDropped(let url, let reason):
            // One for each response while a disk is full or slow; `degraded` and the status report it once.
            logger.debug(
                "a response was not stored",
                metadata: ["url": "\(SecretText.logged(url: url).prefix(1_024))", "reason": "\(reason)"])
        }
    }
}
