// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderRules

/// One API: where it is, how clients reach it, and how its resources are treated.
package struct ServiceSettings: Sendable {
    /// Lower-case letters, digits and `-`; it is a host label (`<name>.localhost`) and a path segment.
    package var name = ""
    /// The preset whose settings this service begins with.
    package var preset: String?
    /// The service's own credential, until the preset has put it where it belongs.
    package var token: Secret?
    package var baseURL = BaseURL.placeholder
    /// Path prefix that leads here in gateway mode, with a slash at both ends; nil means `/<name>/`.
    package var mount: String?
    package var privacy = ServicePrivacy.shared
    /// What says who asks; nil means all fields that look like credentials.
    package var identity: [Identity.Part]?
    /// Query parameters that are left out, by their names or globs of these.
    package var ignoreQuery: [NamePattern] = []
    /// Hosts beside that of `baseURL` which resources of this service may be on.
    package var allowHosts: [HostPattern] = []
    /// How TLS is spoken with the origin of `baseURL`.
    package var tls = ServiceTLS()
    package var browsers = BrowserSettings()
    /// Through which proxy the origin is reached; nil means as `upstream.parent` says.
    package var parent: ParentProxy?
    /// Whether the origin is asked; nil means as all.
    package var offline: OfflineMode?
    /// What parses responses before any block has a say.
    package var standardTransformers: [StandardName] = []
    /// In the order of the file; the first that matches a request is applied.
    package var routes: [RouteRule] = []
    /// How many requests of a quota are left for writes and operators; nil for none.
    package var quotaReserve: Int?
    /// What language models cost, for the report of what was saved.
    package var prices: [ModelPrice] = []
    /// In the order of the file; a later one overrides an earlier one.
    package var configure: [ConfigureBlock] = []
    /// What a program that brings the service along says about it, before `configure`; nothing in files says this.
    package var declare: (@Sendable (Service) -> Void)?

    package init() {}

    /// The prefix that leads here, whether it was named or not.
    package var effectiveMount: String { mount ?? "/\(name)/" }
}

/// How a service has TLS with its origin.
package struct ServiceTLS: Sendable, Hashable {
    /// PEM certificates of authorities that are trusted too.
    package var caFile: String?
    /// PEM files of the certificate and the key that Larder proves its identity with.
    package var certificate: String?
    package var key: String?
    /// The name that the origin is to prove, in place of the host of `baseURL`.
    package var serverName: String?

    package init() {}
}

/// Which web pages may use a service.
package struct BrowserSettings: Sendable {
    /// The origins of pages that may use it through the gateway.
    package var allow: [WebOrigin] = []
}

/// Who may be answered from a stored response.
package enum ServicePrivacy: String, Sendable, CaseIterable {
    /// Everyone, as RFC 9111 §3.5 allows a shared cache.
    case shared
    /// Those who are recognised as the same user, by `identity`.
    case partitioned
    /// One user: responses marked `private` are stored too.
    case `private`
}

/// One entry of a service's `configure` list: which resources it is for, and what it says about them.
///
/// A property that is nil says nothing, and what earlier blocks said stays.
package struct ConfigureBlock: Sendable {
    package var pattern = BlockPattern()
    /// nil means every method.
    package var methods: [Method]?
    /// What the block is called in logs and explanations; nil means its pattern.
    package var description: String?
    package var headers: [HeaderEdit] = []
    package var expirationTime: Expiration?
    /// true makes `expirationTime` win over the lifetime that the origin names, false lets it fill in only.
    package var override: Bool?
    package var retryTime: Duration?
    package var staleWhileRevalidate: Duration?
    package var staleIfError: Duration?
    /// Whether what is watched and in error is loaded when its origin works again.
    package var reloadOnRecovery: Bool?
    package var ignoreRequest: IgnoredRequest?
    package var ignoreResponse: IgnoredResponse?
    /// Whether what the origin sends is the same for everyone.
    package var everyone: Bool?
    package var cache: BlockCaching?
    package var offline: OfflineMode?
    /// Whether the content of POST and QUERY is part of what they ask for.
    package var keyedByContent: Bool?
    /// The longest such content.
    package var keyedContentLimit: ByteCount?
    /// Members of JSON content that are no part of the key.
    package var ignoreContent: [String]?
    /// What the end of a whole stream of events has in it.
    package var streamEnd: [String]?
    /// Whether links in content are mapped for clients of the gateway.
    package var links: Bool?
    /// Whether redirects are followed for clients.
    package var followRedirects: Bool?
    /// The codings that stored content is given in.
    package var codings: [OfferedCoding]?
    package var pipeline: PipelineSettings?
    /// What clients get of what the pipeline makes.
    package var serve: Configuration.Serving?
    package var transformTimeout: Duration?
    package var transformedSizeLimit: ByteCount?
    package var decorate = DecoratorSettings()
    package var afterWrite: Configuration.AfterWrite?

    package init() {}

    /// How `expirationTime` relates to the origin's own lifetime, if this block says anything about it.
    package var expirationMode: ExpirationMode? {
        expirationTime?.mode ?? override.map { $0 ? .override : .fallback }
    }

    /// How the block is named to people.
    package var title: String { description ?? pattern.patternDescription }
}

/// A lifetime, and how it relates to the one the origin names.
package struct Expiration: Sendable, Equatable {
    /// nil where only statuses are named.
    package var time: Duration?
    package var mode: ExpirationMode?
    /// Of responses with these statuses.
    package var byStatus: [Status: Duration]

    package init(time: Duration?, mode: ExpirationMode? = nil, byStatus: [Status: Duration] = [:]) {
        self.time = time
        self.mode = mode
        self.byStatus = byStatus
    }
}

/// How a configured lifetime relates to the one the origin names.
package enum ExpirationMode: String, Sendable, CaseIterable {
    /// The origin's if it names one, else the configured one.
    case fallback
    /// The shorter of the two.
    case cap
    /// The longer of the two.
    case floor
    /// The configured one.
    case override
}

/// Whether what a block is for is kept.
package enum BlockCaching: String, Sendable, CaseIterable {
    case none
    /// As without any block: kept as the rules of HTTP allow.
    case `default`
}

/// A content coding that clients may be given stored content in.
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
