// SPDX-License-Identifier: Apache-2.0
package import Larder

/// Lists of many entities.
extension SQLiteStore {
    /// Up to `limit` committed entities that match, in the order of their commits, starting after `row`; fewer are all.
    package func list(
        after row: Int64?, limit: Int, where match: EntityMatch
    ) async throws(StoreUnavailable) -> [EntityListing] {
        var lines: [EntityListing] = []
        var after = row ?? 0
        let core = core
        while lines.count < limit {
            let (start, wanted) = (after, limit - lines.count)
            // In slices, so that a long search does not delay checkpoints.
            let slice = await core.reading { (reader) throws(SQLiteFailure) in
                try reader.list(after: start, examine: 1000, limit: wanted, match: match, index: core.index)
            }
            guard let slice else { throw StoreUnavailable() }
            lines += slice.lines
            guard let last = slice.last else { break }
            after = last
        }
        return lines
    }
}
