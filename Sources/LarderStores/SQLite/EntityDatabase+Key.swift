// SPDX-License-Identifier: Apache-2.0

/// The secret of a database: it is made with the first content and stays, as nothing could be checked without it.
extension ContentKey {
    struct Finding {
        /// Nil where OpenSSL cannot use one.
        var key: ContentKey?
        /// True if there was another one, for content that is there.
        var isLost = false
    }

    /// The key of a database. A database without a key, or with a damaged key, gets a new one.
    ///
    /// - Parameters:
    ///   - lastContent: the last row of content.
    ///   - secret: the secret for a database without a key, if there is a secret already.
    static func find(
        in connection: Connection, lastContent: Int64, secret: ContentSecret?
    ) throws(SQLiteFailure) -> Finding {
        guard KeyedHashing.isPossible else { return Finding() }
        if let key = try stored(in: connection) { return Finding(key: key) }
        guard let secret = secret ?? .make() else { return Finding() }
        // The latest content is of the present kind if any is.
        let isLost =
            try connection.integer("SELECT length(digest) FROM content WHERE id = \(lastContent)") == KeyedDigest.length
        let key = ContentKey(secret: secret, since: lastContent)
        try key.write(to: connection)
        return Finding(key: key, isLost: isLost)
    }

    /// That of a database that can only be read; nil without one.
    static func stored(at path: String) -> ContentKey? {
        guard KeyedHashing.isPossible, let connection = try? Connection(path: path, isWriter: false) else { return nil }
        connection.leaveLogOnClose()
        return (try? stored(in: connection)).flatMap(\.self)
    }

    private static func stored(in connection: Connection) throws(SQLiteFailure) -> ContentKey? {
        let statement = try connection.prepare(
            """
            SELECT CASE WHEN length(secret) = \(ContentSecret.length) THEN secret END, since, seal FROM contentKey
            WHERE id = 1
            """)
        guard try statement.step(), let secret = ContentSecret(statement.bytes(0)) else { return nil }
        let key = ContentKey(secret: secret, since: statement.integer(1))
        let isWhole = key.seal == statement.integer(2) && (0...StoredNumber.rows.upperBound).contains(key.since)
        return isWhole ? key : nil
    }

    private func write(to connection: Connection) throws(SQLiteFailure) {
        let statement = try connection.prepare(
            "INSERT OR REPLACE INTO contentKey (id, secret, since, seal) VALUES (1, ?1, ?2, ?3)")
        statement.bind(1, secret.octets)
        statement.bind(2, since)
        statement.bind(3, seal)
        try statement.run()
    }

    /// Tells damage.
    private var seal: Int64 {
        let octets = secret.octets + withUnsafeBytes(of: since.littleEndian) { Array($0) }
        return Int64(bitPattern: ContentDigest(of: octets).prefix)
    }
}
