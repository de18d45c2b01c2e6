// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules

/// One stored representation of a Resource, ready to be answered with: what the rules look at, where its content
/// is, and its head as it goes out.
package final class Variant: Sendable {
    /// What the origin sent, by which the rules decide and which is validated.
    package let stored: StoredResponse
    /// What clients get: `stored`, or what the pipeline made of it.
    package let served: StoredResponse
    /// What the pipeline made of it, if it did anything.
    package let rendition: Rendition?
    /// The configuration by which `rendition` is what it is, or nothing; 0 where nothing transforms.
    package let fingerprint: UInt64
    package let content: VariantContent
    /// When this variant was put into the store, which tells it from a later one under the same key.
    package let storedAt: Timestamp
    /// The head as octets, from the status line to the last stored field. Age, Cache-Status and the connection's
    /// own fields follow for each request.
    package let head: [UInt8]
    /// Whether the head holds fields that gateway clients get mapped, or not at all.
    package let namesLocations: Bool
    /// The forms that clients get this in, by their codings; nil when they get it as it is.
    package let forms: CodedForms?
    /// What `Cache-Status` says of a hit, besides how it came to be one.
    package let detail: String?
    private let via: String

    /// - Parameters:
    ///   - content: of what clients get.
    ///   - forms: those of the same content under another head.
    package init(
        stored: StoredResponse, content: VariantContent, storedAt: Timestamp, via: String, fingerprint: UInt64 = 0,
        rendition: Rendition? = nil, forms: CodedForms? = nil
    ) {
        let served = rendition?.served(for: stored, length: content.length) ?? stored
        self.stored = stored
        self.served = served
        self.rendition = rendition
        self.fingerprint = fingerprint
        self.content = content
        self.storedAt = storedAt
        self.via = via
        self.forms = served.recoding != nil && rendition?.form == nil ? CodedForms(after: forms) : nil
        let words = [rendition?.form?.word, stored.facts.ignored].compactMap(\.self)
        detail = words.isEmpty ? nil : words.joined(separator: ", ")
        namesLocations = !FieldSet(of: served.fields).isDisjoint(with: Variant.mappedOnGateway)
        var shown = served.fields
        if let hidden = stored.facts.hiddenField { shown.remove(hidden) }
        head = PreparedHead.make(status: served.status, fields: shown, length: content.length, via: via)
    }

    /// The same content under a newer head.
    ///
    /// - Parameter update: the fields of the response that made it newer, if one did.
    package func with(_ stored: StoredResponse, via: String, freshenedBy update: Fields? = nil) -> Variant {
        Variant(
            stored: stored, content: content, storedAt: storedAt, via: via, fingerprint: fingerprint,
            rendition: update.map { rendition?.freshened(by: $0) } ?? rendition, forms: forms)
    }

    /// The same, found to be what another configuration makes of it as well.
    package func under(fingerprint: UInt64) -> Variant {
        Variant(
            stored: stored, content: content, storedAt: storedAt, via: via, fingerprint: fingerprint,
            rendition: rendition, forms: forms)
    }

    /// The same response as another policy sees it: what depends on the configuration is computed anew.
    package func under(_ policy: CachePolicy) -> Variant {
        var policy = policy
        // How long an override lasts was said with it.
        if isOverride { policy.expirationMode = .fallback }
        return with(stored.marked(stored.standing, policy: policy), via: via)
    }

    /// Fields that name URLs or hosts.
    private static let locating: [FieldName] = [.location, .contentLocation, .link, .refresh, .setCookie]

    /// Fields that tell a browser something about a whole origin: the gateway's is not the one that is meant.
    package static let aboutOrigin: [FieldName] = [
        .serviceWorkerAllowed, .clearSiteData, .setCookie2, .useAsDictionary, .noVarySearch, .acceptCH, .altSvc, .nel,
        .originAgentCluster, .publicKeyPins, .reportTo, .strictTransportSecurity,
    ]

    package static let mappedOnGateway = FieldSet(locating + aboutOrigin)

    /// Whether an operator put it here: it is in memory only, and no origin is asked whether it is still good (B-04).
    package var isOverride: Bool { rendition?.isOverride ?? false }

    /// This in another coding, or as it came where that has to say that there are others.
    ///
    /// - Parameters:
    ///   - fields: its header section.
    ///   - content: its octets.
    func form(_ kind: Rendition.Form, fields: Fields, content: VariantContent) -> Variant {
        var form = Rendition(
            status: served.status, fields: fields, originStatus: rendition?.originStatus ?? stored.status,
            isPromoted: rendition?.isPromoted ?? false, isOverride: isOverride)
        form.form = kind
        return Variant(
            stored: stored, content: content, storedAt: storedAt, via: via, fingerprint: fingerprint, rendition: form)
    }

    /// Octets of memory this variant takes: content, head and fields, its forms, and the objects that hold them, as
    /// measured with many small ones in memory and in the store.
    package var cost: Int { content.bytesInMemory + 2 * head.count + 1152 + (forms?.cost ?? 0) }
}

/// Where a stored response's content is.
package enum VariantContent: Sendable {
    /// Whole and in memory.
    case memory([ContentChunk], length: Int)
    /// In the store, read piece by piece.
    case store(any ContentSource)

    package static let empty = VariantContent.memory([], length: 0)

    /// Octets of content.
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

/// Content that rests in a store.
package protocol ContentSource: Sendable {
    /// Octets of content.
    var length: Int64 { get }

    /// Opens the content for reading, or nil when it is gone or damaged: a miss.
    func open() async -> (any ContentReader)?
}

/// Stored content, opened.
package protocol ContentReader: Sendable {
    /// Up to `count` octets from `offset` on; nil when they cannot be had or are not what was stored.
    func read(at offset: Int64, count: Int) async -> ContentChunk?
}
