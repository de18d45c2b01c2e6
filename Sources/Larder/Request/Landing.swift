// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// The parts of a response that the resource needs to store it: all of them were chosen when the request was made, so
/// that later changes do not store it under another name.
struct Landing: Sendable {
    /// The resource whose request it was.
    let resource: ObjectIdentifier
    let method: Method
    /// The resource's wipe generation when the request was made.
    let wipeGeneration: UInt64
    /// The output of the stages that have caches.
    var outputs: [PipelineRun.Output] = []
    /// The resource's entries in caches.
    let entries: [CacheEntry]
    /// After a 304: which version of the data was confirmed.
    var confirmedVersion: UInt64?
    /// The existing data turned out to be fresh.
    var isConfirmedByCache = false
    /// The origin, or the request, forbids storing any of it (RFC 9111 §5.2).
    var isUnstorable = false
}
