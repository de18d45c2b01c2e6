// SPDX-License-Identifier: Apache-2.0

extension Configuration {
    /// A number for what clients get of a response under this configuration; 0 when they get what the origin sent.
    /// The same in every process that runs the same program.
    var fingerprint: UInt64 {
        guard serving != .raw, pipeline.hasTransformers else { return 0 }
        // FNV-1a: what is hashed is the operator's own words, of which nobody has an interest in making two alike.
        let text = "\(serving)\n\(transformedSizeLimit)\n\(pipeline.fingerprint)"
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return max(hash, 1)
    }
}
