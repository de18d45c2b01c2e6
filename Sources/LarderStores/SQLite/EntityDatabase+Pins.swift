// SPDX-License-Identifier: Apache-2.0

extension EntityDatabase {
    func change(_ pins: PinChange) throws(SQLiteFailure) {
        let statement =
            pins.isPinned
            ? try connection.prepare("INSERT OR IGNORE INTO pin (keyHash, key) VALUES (?1, ?2)")
            : try connection.prepare("DELETE FROM pin WHERE keyHash = ?1")
        for key in pins.keys {
            statement.bind(1, hash: key.hash)
            if pins.isPinned { statement.bind(2, key.bytes) }
            try statement.run()
        }
    }

    func pinnedKeys() throws(SQLiteFailure) -> Set<UInt64> {
        var keys: Set<UInt64> = []
        let statement = try connection.prepare("SELECT keyHash FROM pin")
        while try statement.step() { keys.insert(statement.hash(0)) }
        return keys
    }
}

extension EntityReader {
    func pins() throws(SQLiteFailure) -> [PinListing] {
        let statement = try connection.prepare(
            """
            SELECT pin.keyHash, pin.key, count(entity.id), ifnull(sum(content.length), 0)
            FROM pin LEFT JOIN entity ON entity.keyHash = pin.keyHash LEFT JOIN content ON content.id = entity.content
            GROUP BY pin.keyHash
            """)
        var pins: [PinListing] = []
        while try statement.step() {
            // A key whose hash is another was damaged.
            guard let key = EntityKey(bytes: statement.bytes(1)), key.hash == statement.hash(0) else { continue }
            pins.append(
                PinListing(
                    key: key, variants: Int(statement.integer(2)),
                    bytes: min(max(statement.integer(3), 0), StoredNumber.lengths.upperBound)))
        }
        return pins
    }
}
