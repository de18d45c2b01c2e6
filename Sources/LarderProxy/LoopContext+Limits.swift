// SPDX-License-Identifier: Apache-2.0

/// How much is kept, by the loop's configuration: nothing is asked of other threads.
extension LoopContext {
    var memoryObjectLimit: Int { configuration.memoryObjectLimit }

    var transformedContentLimit: Int { configuration.transformedContentLimit }

    /// The largest content the store takes.
    var storedObjectLimit: Int64 { storing?.maxObject ?? 0 }

    /// Whether content of `length` octets, or of unknown length, starts out being kept in memory.
    func keepsInMemory(_ length: Int64?) -> Bool { (length ?? 0) <= Int64(memoryObjectLimit) }

    /// Whether content of `length` octets can be kept at all.
    func mayKeep(_ length: Int64?) -> Bool {
        guard let storing else { return keepsInMemory(length) }
        return (length ?? 0) <= min(storing.maxObject, Int64(configuration.settings.cache.maxObject.bytes))
    }
}
