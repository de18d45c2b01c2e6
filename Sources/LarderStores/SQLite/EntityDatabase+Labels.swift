// SPDX-License-Identifier: Apache-2.0

/// Rows of labels: entities that are found together. They are added and removed with the row of their entity.
extension EntityDatabase {
    func add(_ labels: [EntityLabel], to id: Int64) throws(SQLiteFailure) {
        for label in labels {
            insertLabel.bind(1, hash: label.hash)
            insertLabel.bind(2, id)
            try insertLabel.run()
        }
    }

    func removeLabels(of id: Int64) throws(SQLiteFailure) {
        deleteLabels.bind(1, id)
        try deleteLabels.run()
    }

    /// The next rows of a removal: all in their order, or those with its label.
    func rows(of removal: Removal, through lastID: Int64, limit: Int) throws(SQLiteFailure) -> [RemovalRow] {
        var rows: [RemovalRow] = []
        func collect(_ statement: borrowing Statement) throws(SQLiteFailure) {
            defer { statement.reset() }
            while try statement.step() {
                rows.append(
                    RemovalRow(
                        id: statement.integer(0), keyHash: statement.hash(1), content: statement.optionalInteger(2),
                        key: statement.bytes(3)))
            }
        }
        guard let label = removal.match.label else {
            entitiesInRange.bind(1, removal.nextID)
            entitiesInRange.bind(2, lastID)
            entitiesInRange.bind(3, Int64(limit))
            try collect(entitiesInRange)
            return rows
        }
        labelledInRange.bind(1, removal.nextID)
        labelledInRange.bind(2, lastID)
        labelledInRange.bind(3, Int64(limit))
        labelledInRange.bind(4, hash: label.hash)
        try collect(labelledInRange)
        return rows
    }

    struct RemovalRow {
        var id: Int64
        var keyHash: UInt64
        var content: Int64?
        var key: [UInt8]
    }
}

extension Migration {
    /// Labels entities in partitions, so that one write reaches all of them. Groups are only recorded for entities
    /// stored from now on.
    static func labelPartitions(_ connection: Connection) throws(SQLiteFailure) {
        let entities = try connection.prepare("SELECT id, key FROM entity")
        let label = try connection.prepare("INSERT OR IGNORE INTO label (hash, entity) VALUES (?1, ?2)")
        while try entities.step() {
            guard let key = EntityKey(bytes: entities.bytes(1)), let its = EntityLabel.partitioned(key) else {
                continue
            }
            label.bind(1, hash: its.hash)
            label.bind(2, entities.integer(0))
            try label.run()
        }
    }
}
