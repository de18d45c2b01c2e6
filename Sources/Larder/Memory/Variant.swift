// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// One stored representation of a Resource, ready to be sent: the metadata that the rules use, its content, and its
/// head as bytes.
package final class Variant: Sendable {
    /// The response of the origin, which the rules use and which is validated.
    package let stored: StoredResponse
    /// The response for clients: `stored`, or the pipeline's result.
    package let served: StoredResponse
    /// The pipeline's result, if it changed anything.
    package let rendition: Rendition?
    /// The configuration that `rendition` was made by; 0 where nothing transforms.
    package let fingerprint: UInt64
    package let content: VariantContent
    /// When this variant was written to the store, which distinguishes it from a later one under the same key.
    package let storedAt: Timestamp
    /// True if the head has fields that are rewritten or removed for clients of a gateway.
    package let namesLocations: Bool
    /// The forms of the content, by their codings; nil when it is only sent as it is.
    package let forms: CodedForms?
    /// Details for the `Cache-Status` of a hit, in addition to how it became one.
    package let detail: String?
    /// When the bytes of a stream had come; nil where that was at once, or is not known.
    package let pace: StreamPace?
    /// True if it is the content of a write that the origin accepted, and not a response to GET. In memory only.
    package let isWritten: Bool
    private let via: String
    private let lazyHead = OnceReference<ContentChunk>()

    /// - Parameters:
    ///   - content: the content of the response for clients.
    ///   - forms: the forms of this content under another head.
    package init(
        stored: StoredResponse, content: VariantContent, storedAt: Timestamp, via: String, fingerprint: UInt64 = 0,
        rendition: Rendition? = nil, forms: CodedForms? = nil, pace: StreamPace? = nil, isWritten: Bool = false
    ) {
        self.pace = pace
        self.isWritten = isWritten
        let served = rendition?.served(for: stored, length: content.length) ?? stored
        self.stored = stored
        self.served = served
        self.rendition = rendition
        self.fingerprint = fingerprint
        self.content = content
        self.storedAt = storedAt
        self.via = via
        self.forms = served.recoding != nil && rendition?.form == nil ? CodedForms(after: forms) : nil
        let words = [isWritten ? Variant.written : nil, rendition?.form?.word, stored.facts.ignored].compactMap(\.self)
        detail = words.isEmpty ? nil : words.joined(separator: ", ")
        namesLocations = !FieldSet(of: served.fields).isDisjoint(with: Variant.mappedOnGateway)
    }

    /// The head as bytes, from the status line to the last stored field. Age, Cache-Status and the connection's
    /// own fields follow for each request. Prepared for the first hit, as many stored responses never have one.
    package var head: ContentChunk { lazyHead.load() ?? lazyHead.storeIfNil(ContentChunk(prepareHead())) }

    private func prepareHead() -> [UInt8] {
        var shown = served.fields
        if let hidden = stored.facts.hiddenField { shown.remove(hidden) }
        return PreparedHead.make(status: served.status, fields: shown, length: content.length, via: via)
    }

    /// The same content under a newer head.
    ///
    /// - Parameter update: the fields of the response that freshened it, if one did.
    package func with(_ stored: StoredResponse, via: String, freshenedBy update: Fields? = nil) -> Variant {
        Variant(
            stored: stored, content: content, storedAt: storedAt, via: via, fingerprint: fingerprint,
            rendition: update.map { rendition?.freshened(by: $0) } ?? rendition, forms: forms, pace: pace,
            isWritten: isWritten && update == nil)
    }

    /// The same variant, confirmed to be the result of another configuration as well.
    package func under(fingerprint: UInt64) -> Variant {
        Variant(
            stored: stored, content: content, storedAt: storedAt, via: via, fingerprint: fingerprint,
            rendition: rendition, forms: forms, pace: pace, isWritten: isWritten)
    }

    /// The same response under another policy: derived properties are computed again.
    package func under(_ policy: CachePolicy) -> Variant {
        var policy = policy
        // An override keeps the lifetime that was set with it.
        if isOverride { policy.expirationMode = .fallback }
        return with(stored.marked(stored.standing, policy: policy), via: via)
    }

    /// Fields that name URLs or hosts.
    private static let locating: [FieldName] = [.location, .contentLocation, .link, .refresh, .setCookie]

    /// Fields that affect a whole origin in a browser: the gateway's is another one.
    package static let aboutOrigin: [FieldName] = [
        .serviceWorkerAllowed, .clearSiteData, .setCookie2, .useAsDictionary, .noVarySearch, .acceptCH, .altSvc, .nel,
        .originAgentCluster, .publicKeyPins, .reportTo, .strictTransportSecurity, .setLogin,
        .sessionRegistration, .sessionChallenge, .secureSessionRegistration, .secureSessionChallenge, .criticalCH,
        .activateStorageAccess, .attributionSource, .attributionTrigger,
    ]

    package static let mappedOnGateway = FieldSet(locating + aboutOrigin)

    /// The detail in `Cache-Status` for the content of a write.
    package static let written = "written"

    /// True if an operator set it: it is in memory only, and is never validated with an origin (B-04).
    package var isOverride: Bool { rendition?.isOverride ?? false }

    /// This variant in another coding, or as received where that has to announce other forms.
    ///
    /// - Parameters:
    ///   - fields: its header section.
    ///   - content: its bytes.
    func form(_ kind: Rendition.Form, fields: Fields, content: VariantContent) -> Variant {
        var form = Rendition(
            status: served.status, fields: fields, originStatus: rendition?.originStatus ?? stored.status,
            isPromoted: rendition?.isPromoted ?? false, isOverride: isOverride)
        form.form = kind
        return Variant(
            stored: stored, content: content, storedAt: storedAt, via: via, fingerprint: fingerprint, rendition: form,
            isWritten: isWritten)
    }

    /// Bytes of memory this variant occupies once it was used: content, head and fields, the parts of its request that
    /// it is kept with, its forms, and the objects that hold them, as measured with many small ones in memory and in the
    /// store.
    package var cost: Int {
        let asReceived = rendition == nil ? 0 : stored.fields.octetCount
        let ofRequest =
            stored.variance.octetCount + (stored.requestedRange?.count ?? 0) + (stored.place?.utf8.count ?? 0)
        return content.bytesInMemory + 2 * served.fields.octetCount + asReceived + ofRequest + Variant.overhead
            + (forms?.cost ?? 0) + (pace?.octets.count ?? 0)
    }

    private static let overhead = 1232
}

/// The place of a stored response's content.
package enum VariantContent: Sendable {
    /// Whole and in memory.
    case memory([ContentChunk], length: Int)
    /// In the store, read piece by piece.
    case store(ContentSource)

    package static let empty = VariantContent.memory([], length: 0)

    /// Bytes of content.
    package var length: Int64 {
        switch self {
        case .memory(_, let length): Int64(length)
        case .store(let source): source.length
        }
    }

    package var bytesInMemory: Int {
        switch self {
        case .memory(_, let length): length
        case .store: 0
        }
    }
}

/// Content in a store.
package struct ContentSource: Sendable {
    /// Bytes of content.
    package let length: Int64
    /// Opens the content for reading, or nil when it is missing or damaged: a miss.
    package let open: @Sendable () async throws(StoreUnavailable) -> (any ContentReader)?

    package init(
        length: Int64, open: @escaping @Sendable () async throws(StoreUnavailable) -> (any ContentReader)?
    ) {
        self.length = length
        self.open = open
    }
}

/// Content in a store, open for reading, or still being written to it. A protocol, because stores depend on this target
/// and it does not depend on any store.
package protocol ContentReader: Sendable {
    /// Up to `count` bytes from `offset` on; nil when they are missing or not the stored ones.
    func read(at offset: Int64, count: Int) async throws(StoreUnavailable) -> ContentChunk?
}

/// A store cannot read at the moment: too many reads wait, or the system opens no file. That says nothing about what is
/// stored, which may be read another time and must not be removed.
package struct StoreUnavailable: Error, CustomStringConvertible {
    package let description = "the store cannot read at the moment"

    package init() {}
}
