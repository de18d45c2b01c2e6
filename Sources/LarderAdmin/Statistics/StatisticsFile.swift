// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import Logging

/// The file beside the store that keeps the statistics from one run of the daemon to the next. Its methods block.
final class StatisticsFile: Sendable {
    static let name = "larder.statistics"
    private static let sizeLimit = 1 << 20
    private let path: String
    private let logger: Logger
    /// True while the last attempt to write has failed.
    private let isFailing = Lock(false)

    /// - Parameter directory: the store's.
    init(directory: String, _ logger: Logger) {
        path = "\(directory)/\(StatisticsFile.name)"
        self.logger = logger
    }

    /// Returns the kept statistics; nil without a file. A file that cannot be used is renamed.
    func read() -> KeptStatistics? {
        let reason: String
        do throws(BoundedFile.Failure) {
            let octets = try BoundedFile.read(path, limit: StatisticsFile.sizeLimit, .own)
            if let kept = KeptStatistics(octets) { return kept }
            reason = "it is damaged or of another version"
        } catch {
            if error == .missing { return nil }
            reason = "\(error)"
        }
        let aside = path + ".damaged"
        let isAside = rename(path, aside) == 0
        logger.warning(
            "the statistics of earlier runs cannot be used: they begin anew",
            metadata: ["file": "\(isAside ? aside : path)", "reason": "\(reason)"])
        return nil
    }

    /// Replaces the file. A failure is logged, and the next one only after a success.
    func write(_ kept: KeptStatistics) {
        let octets = kept.octets
        isFailing.withLock { isFailing in
            do throws(IOError) {
                try FileDraft.write(octets, to: path, draft: path + ".new", isSynced: false)
                isFailing = false
            } catch {
                if !isFailing { logger.warning("the statistics cannot be kept", metadata: ["error": "\(error)"]) }
                isFailing = true
            }
        }
    }
}
