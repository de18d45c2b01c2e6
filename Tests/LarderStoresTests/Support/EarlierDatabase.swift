// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

@testable import LarderStores

/// A database as the first version made it, or as far as these steps go.
func makeDatabase(
    _ directory: TemporaryDirectory, _ migrations: [Migration] = Array(Migration.all.prefix(1))
) throws -> Connection {
    directory.write([], to: "larder.db")
    let connection = try Connection(path: directory.path + "/larder.db", isWriter: true)
    _ = try Schema.prepare(connection, migrations: migrations)
    return connection
}

/// Stores an entity as the first version did.
func putEarlier(
    _ bytes: [UInt8], under key: EntityKey, at seconds: Int64 = 1000, row: Int64 = 1, into connection: Connection
) throws {
    let digest = ContentDigest(of: bytes)
    let time = Timestamp(seconds: seconds)
    let checksum = RowChecksum(
        requestTime: time, responseTime: time, storedAt: time, expires: nil, digest: .sha256(digest),
        length: Int64(bytes.count))
    let content = try connection.prepare(
        "INSERT INTO content (id, digestHash, users, length, digest, octets) VALUES (?1, ?2, 1, ?3, ?4, ?5)")
    content.bind(1, row)
    content.bind(2, hash: digest.prefix)
    content.bind(3, Int64(bytes.count))
    content.bind(4, digest.bytes)
    content.bind(5, bytes)
    try content.run()
    let entity = try connection.prepare("INSERT INTO entity VALUES (?1, ?2, ?3, ?1, ?4, ?4, ?4, NULL, ?5, ?6, ?7, ?7)")
    entity.bind(1, row)
    entity.bind(2, hash: key.hash)
    entity.bind(3, hash: ContentDigest(of: []).prefix)
    entity.bind(4, time.nanoseconds)
    entity.bind(5, checksum.value(key: key.bytes, variant: [], head: [], using: ContentDigest.Hashing()))
    entity.bind(6, key.bytes)
    entity.bind(7, [UInt8]())
    try entity.run()
}
