// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderRules

/// One API: its URL, how clients reach it, and how its resources are handled.
package struct ServiceSettings: Sendable {
    /// Lower-case letters, digits and `-`; it is a host label (`<name>.localhost`) and a path segment.
    package var name = ""
    /// The preset that supplies this service's initial settings.
    package var preset: String?
    /// The service's own credential, until the preset has placed it.
    package var token: Secret?
    package var baseURL = BaseURL.placeholder
    /// Path prefix of the service in gateway mode, with a slash at both ends; nil means `/<name>/`.
    package var mount: String?
    package var privacy = ServicePrivacy.shared
    /// The parts of a request that identify a client; nil means all fields that look like credentials.
    package var identity: [Identity.Part]?
    /// Whether users' own parts of the cache are shared with other daemons.
    package var sharesPartitions = false
    /// Query parameters to remove, by their names or globs of these.
    package var ignoreQuery: [NamePattern] = []
    /// Additional hosts, beside that of `baseURL`, for resources of this service.
    package var allowHosts: [HostPattern] = []
    /// TLS settings for the origin of `baseURL`.
    package var tls = ServiceTLS()
    package var browsers = BrowserSettings()
    /// The proxy through which the origin is reached; nil means `upstream.parent`.
    package var parent: ParentProxy?
    /// Whether the origin is asked; nil means the global setting.
    package var offline: OfflineMode?
    /// How many superseded responses are kept of each variant.
    package var history = 0
    /// Parse responses before the transformers of any block.
    package var standardTransformers: [StandardName] = []
    /// In the order of the file; the first that matches a request is applied.
    package var routes: [RouteRule] = []
    /// How many requests of a quota are reserved for writes and operators; nil for none.
    package var quotaReserve: Int?
    /// Prices of language models, for the report of savings.
    package var prices: [ModelPrice] = []
    /// In the order of the file; a later one overrides an earlier one.
    package var configure: [ConfigureBlock] = []
    /// The configuration by the program that supplies the service, before `configure`; not settable in files.
    package var declare: (@Sendable (Service) -> Void)?

    package init() {}

    /// The path prefix, given or by default.
    package var effectiveMount: String { mount ?? "/\(name)/" }
}

/// A service's TLS settings for its origin.
package struct ServiceTLS: Sendable, Hashable {
    /// PEM certificates of additional trusted authorities.
    package var caFile: String?
    /// PEM files of Larder's client certificate and its key.
    package var certificate: String?
    package var key: String?
    /// The name that the origin must prove, in place of the host of `baseURL`.
    package var serverName: String?

    package init() {}
}

/// The web pages that may use a service.
package struct BrowserSettings: Sendable {
    /// The origins of pages that may use it through the gateway.
    package var allow: [WebOrigin] = []
}

/// The clients that may get a stored response.
package enum ServicePrivacy: String, Sendable, CaseIterable {
    /// All clients, as RFC 9111 §3.5 permits a shared cache.
    case shared
    /// Clients recognised as the same user, by `identity`.
    case partitioned
    /// One user: responses marked `private` are stored too.
    case `private`
}

/// One entry of a service's `configure` list: the resources it applies to, and their settings.
///
/// Unset properties keep the values of earlier blocks.
package struct ConfigureBlock: Sendable {
    package var pattern = BlockPattern()
    /// nil means every method.
    package var methods: [Method]?
    /// The block's name in logs and explanations; nil means its pattern.
    package var description: String?
    package var headers: [HeaderEdit] = []
    package var expirationTime: Expiration?
    /// true makes `expirationTime` override the origin's lifetime, false makes it a fallback.
    package var override: Bool?
    package var retryTime: Duration?
    package var staleWhileRevalidate: Duration?
    package var staleIfError: Duration?
    /// Whether watched resources in error are reloaded when their origin recovers.
    package var reloadOnRecovery: Bool?
    package var ignoreRequest: IgnoredRequest?
    package var ignoreResponse: IgnoredResponse?
    /// Whether the origin's responses are the same for all clients.
    package var everyone: Bool?
    package var cache: BlockCaching?
    /// How many superseded responses are kept of each variant.
    package var history: Int?
    package var offline: OfflineMode?
    /// Whether the content of POST and QUERY is part of the key.
    package var keyedByContent: Bool?
    /// The longest such content.
    package var keyedContentLimit: ByteCount?
    /// Members of JSON content that are not part of the key.
    package var ignoreContent: [String]?
    /// Texts that the end of a complete event stream contains.
    package var streamEnd: [String]?
    /// How fast stored event streams are replayed.
    package var replay: StreamReplay?
    /// Whether links in content are mapped for clients of the gateway.
    package var links: Bool?
    /// Whether redirects are followed for clients.
    package var followRedirects: Bool?
    /// The codings in which stored content is offered.
    package var codings: [OfferedCoding]?
    package var pipeline: PipelineSettings?
    /// Which transformed responses clients get.
    package var serve: Configuration.Serving?
    package var transformTimeout: Duration?
    package var transformedSizeLimit: ByteCount?
    package var decorate = DecoratorSettings()
    package var afterWrite: Configuration.AfterWrite?
    /// Which stored responses are validated before anyone asks for them.
    package var refreshAhead: RefreshAhead?
    /// The program and the webhook that are told of content that changes.
    package var onChange: Revocable<ChangeSettings>?

    package init() {}

    /// How `expirationTime` relates to the origin's own lifetime, if this block sets it.
    package var expirationMode: ExpirationMode? {
        expirationTime?.mode ?? override.map { $0 ? .override : .fallback }
    }

    /// The name of the block for people.
    package var title: String { description ?? pattern.patternDescription }
}

/// A lifetime, and how it relates to the origin's.
package struct Expiration: Sendable, Equatable {
    /// nil where only statuses have lifetimes.
    package var time: Duration?
    package var mode: ExpirationMode?
    /// Lifetimes of responses with these statuses.
    package var byStatus: [Status: Duration]

    package init(time: Duration?, mode: ExpirationMode? = nil, byStatus: [Status: Duration] = [:]) {
        self.time = time
        self.mode = mode
        self.byStatus = byStatus
    }
}

/// How a configured lifetime relates to the origin's.
package enum ExpirationMode: String, Sendable, CaseIterable {
    /// The origin's if there is one, else the configured one.
    case fallback
    /// The shorter of the two.
    case cap
    /// The longer of the two.
    case floor
    /// The configured one.
    case override
}

/// Whether the block's responses are stored.
package enum BlockCaching: String, Sendable, CaseIterable {
    case none
    /// As without any block: stored as HTTP allows.
    case `default`
}

/// How fast a stored event stream is sent.
package enum StreamReplay: String, Sendable, CaseIterable {
    case immediate
    /// As the origin sent it.
    case paced
}

/// A content coding in which stored content may be sent.
package enum OfferedCoding: String, Sendable, CaseIterable {
    case zstd, br, gzip
}

/// One field of `headers`: set on requests to the origin, or removed from them.
package struct HeaderEdit: Sendable, Equatable {
    package var name: FieldName
    /// nil removes the field.
    package var value: Secret?

    package init(name: FieldName, value: Secret?) {
        self.name = name
        self.value = value
    }
}
