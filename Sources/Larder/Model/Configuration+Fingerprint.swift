// SPDX-License-Identifier: Apache-2.0

extension Configuration {
    /// A hash of everything that changes responses under this configuration; 0 when clients get the origin's bytes.
    /// The same in every process that runs the same program.
    var fingerprint: UInt64 {
        guard serving != .raw, pipeline.hasTransformers else { return 0 }
        // FNV-1a: the input is the operator's own text, so there is no attacker who could gain from a collision.
        let text = "\(serving)\n\(transformedSizeLimit)\n\(pipeline.fingerprint)"
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return max(hash, 1)
    }
}
