// SPDX-License-Identifier: Apache-2.0

/// Finding and removing rows that Larder cannot have written.
extension EntityDatabase {
    /// Rows with numbers that this store never writes. Some numbers are used before the row itself is read: a flipped
    /// bit must not cause the eviction of all entities.
    struct ImpossibleRows {
        var entities: [Int64] = []
        var contents: [Int64] = []
        var isEmpty: Bool { entities.isEmpty && contents.isEmpty }
    }

    /// - Parameter limit: the most bytes that a file can have.
    func impossibleRows(longerThan limit: Int64) throws(SQLiteFailure) -> ImpossibleRows {
        let last = StoredNumber.rows.upperBound
        let entities = try numbers(
            """
            SELECT id FROM entity WHERE id < 1 OR id > \(last)
            UNION SELECT id FROM version WHERE id < 1 OR id > \(last)
            """)
        let contents = try numbers(
            """
            SELECT id FROM content WHERE id < 1 OR id > \(last)
            UNION SELECT id FROM content INDEXED BY contentInFiles
            WHERE blocks IS NOT NULL AND NOT (typeof(length) = 'integer' AND length BETWEEN 1 AND \(limit))
            """)
        return ImpossibleRows(entities: entities, contents: contents)
    }

    func remove(_ rows: ImpossibleRows) throws(SQLiteFailure) {
        for id in rows.entities { try discardEntity(id: id) }
        for id in rows.contents {
            guard var found = try contentOf(id: id) else { continue }
            found.length = 0
            try deleteContentRow(found, isDamaged: true)
        }
    }

    private func numbers(_ sql: String) throws(SQLiteFailure) -> [Int64] {
        let statement = try connection.prepare(sql)
        var numbers: [Int64] = []
        while try statement.step() { numbers.append(statement.integer(0)) }
        return numbers
    }
}
