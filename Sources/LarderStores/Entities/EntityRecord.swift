// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// One stored entity: a variant of the responses under a key, with everything needed to answer again.
package struct EntityRecord: Sendable {
    /// Identifies a variant under its key (the nominated request fields of `Vary`); opaque to the store.
    package var variant: [UInt8]
    /// The response head and the model's metadata in the form that their owner writes; opaque to the store.
    package var head: [UInt8]
    package var requestTime: Timestamp
    package var responseTime: Timestamp
    /// When the content was stored. Identifies this version of the entity to `updateHead`.
    package var storedAt: Timestamp
    /// After this the entity is among the first to be evicted.
    package var expires: Timestamp?
    package var content: ContentReference
    /// The labels by which the entity is found. Set when it is written, not when it is read.
    package var labels: [EntityLabel] = []
    /// The versions to keep of this entity and of earlier ones. Set when it is written, not when it is read.
    package var history = EntityHistory()

    package init(
        variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp, storedAt: Timestamp,
        expires: Timestamp?, content: ContentReference
    ) {
        self.variant = variant
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.storedAt = storedAt
        self.expires = expires
        self.content = content
    }
}

/// The versions that are kept once newer entities of a key and variant supersede older ones.
package struct EntityHistory: Sendable, Equatable {
    /// How many versions are kept beside the entity.
    package var limit: Int
    /// True if the entity itself becomes a version.
    package var isVersion: Bool

    package init(limit: Int = 0, isVersion: Bool = true) {
        self.limit = limit
        self.isVersion = isVersion
    }

    /// True if the entity is kept when it is superseded.
    var isKept: Bool { limit > 0 && isVersion }
}

/// An entity that is stored, or was until it was superseded.
package struct EntityVersion: Sendable {
    /// Names it for good. Grows with the time of writing.
    package var number: Int64
    package var record: EntityRecord
    /// When this content was first stored, without other content in between.
    package var since: Timestamp
    package var isCurrent: Bool
}

/// Why an entity is removed.
package enum RemovalReason: String, Sendable {
    /// Nothing of it may be left: its versions go as well.
    case wiped
    /// There is something newer, or about to be: it stays as a version where its service has them kept.
    case superseded
    /// It may not be kept, or cannot be used. Its versions stay.
    case unusable
}

/// The content of an entity, and its place.
package struct ContentReference: Sendable {
    package enum Location: Sendable {
        /// The bytes themselves; they have been verified against the digest.
        case inline(ContentChunk)
        /// A file, read through `openContent`, which verifies each block as it is read.
        case file
        /// There are none.
        case empty
    }

    package var digest: StoredDigest
    /// In bytes.
    package var length: Int64
    package var location: Location

    package init(digest: StoredDigest, length: Int64, location: Location) {
        self.digest = digest
        self.length = length
        self.location = location
    }

    package static let empty = ContentReference(digest: .sha256(ContentDigest(of: [])), length: 0, location: .empty)
}

/// A line of a listing.
package struct EntityListing: Sendable {
    /// Pass this to `list(after:)` to continue after this line. Grows with the time of writing.
    package var row: Int64
    package var key: EntityKey
    package var variant: [UInt8]
    /// The bytes of the content.
    package var length: Int64
    package var requestTime: Timestamp
    package var responseTime: Timestamp
    package var storedAt: Timestamp
    package var expires: Timestamp?
    /// True if eviction will skip the key once, because it has been read since eviction last examined it.
    package var isRecentlyUsed: Bool
}

/// Selects the entities of an operation on many; an entity must meet all given conditions.
package struct EntityMatch: Sendable {
    package var service: String?
    package var partition: String?
    package var stage: String?
    package var urlPrefix: String?
    /// Entities with this label, which are found without examining all others.
    package var label: EntityLabel?
    package var predicate: (@Sendable (EntityKey) -> Bool)?

    package init(
        service: String? = nil, partition: String? = nil, stage: String? = nil, urlPrefix: String? = nil,
        label: EntityLabel? = nil, predicate: (@Sendable (EntityKey) -> Bool)? = nil
    ) {
        self.service = service
        self.partition = partition
        self.stage = stage
        self.urlPrefix = urlPrefix
        self.label = label
        self.predicate = predicate
    }

    /// True if an entity under `key` matches, as far as its key says.
    package func accepts(_ key: EntityKey) -> Bool {
        (service == nil || service == key.service)
            && (partition == nil || partition == key.partition)
            && (stage == nil || stage == key.stage)
            && (urlPrefix.map { key.url.utf8.starts(with: $0.utf8) } ?? true)
            && (predicate?(key) ?? true)
    }

    /// True if both certainly match the same entities.
    func isSame(as other: EntityMatch) -> Bool {
        predicate == nil && other.predicate == nil && service == other.service && partition == other.partition
            && stage == other.stage && urlPrefix == other.urlPrefix && label == other.label
    }
}
