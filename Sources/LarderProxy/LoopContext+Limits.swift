// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Size limits from the loop's own configuration, read without synchronization.
extension LoopContext {
    var memoryObjectLimit: Int { configuration.memoryObjectLimit }

    var transformedContentLimit: Int { configuration.transformedContentLimit }

    /// The largest content that the store accepts.
    var storedObjectLimit: Int64 { diskTier?.maxObject ?? 0 }

    /// Whether content of `length` octets, or of unknown length, is kept in memory at first.
    func keepsInMemory(_ length: Int64?) -> Bool { (length ?? 0) <= Int64(memoryObjectLimit) }

    /// Whether content of `length` octets can be stored at all.
    func mayKeep(_ length: Int64?) -> Bool {
        keepsInMemory(length) || (length ?? 0) <= storedObjectLimit
    }
}
