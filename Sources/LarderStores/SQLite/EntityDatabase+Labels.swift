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

    /// The next rows of a removal: all in their order, or those with the label that it is at.
    func rows(of removal: Removal, through lastID: Int64, limit: Int) throws(SQLiteFailure) -> [RemovalRow] {
        var rows: [RemovalRow] = []
        // Holds: a removal ends behind its last label.
        let label = removal.labels.isEmpty ? nil : removal.labels[removal.cursor.label]
        func collect(_ statement: borrowing Statement) throws(SQLiteFailure) {
            statement.bind(1, removal.cursor.row)
            statement.bind(2, lastID)
            statement.bind(3, Int64(limit))
            if let label { statement.bind(4, hash: label.hash) }
            try self.collect(statement, into: &rows)
        }
        switch (label != nil, removal.cursor.isAmongVersions) {
        case (false, false): try collect(entitiesInRange)
        case (true, false): try collect(labelledInRange)
        case (false, true): try collect(versions.inRange)
        case (true, true): try collect(versions.labelledInRange)
        }
        return rows
    }

    func collect(_ statement: borrowing Statement, into rows: inout [RemovalRow]) throws(SQLiteFailure) {
        defer { statement.reset() }
        while try statement.step() {
            rows.append(
                RemovalRow(
                    id: statement.integer(0), keyHash: statement.hash(1), content: statement.optionalInteger(2),
                    key: statement.bytes(3), history: statement.integer(4)))
        }
    }

    struct RemovalRow {
        var id: Int64
        var keyHash: UInt64
        var content: Int64?
        var key: [UInt8]
        /// `EntityHistory.column`.
        var history: Int64
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
