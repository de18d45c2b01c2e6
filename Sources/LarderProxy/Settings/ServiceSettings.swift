// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// One API: where it is, how clients reach it, and how its resources are treated.
package struct ServiceSettings: Sendable {
    /// Lower-case letters, digits and `-`; it is a host label (`<name>.localhost`) and a path segment.
    package var name = ""
    package var baseURL = BaseURL.placeholder
    /// Path prefix that leads here in gateway mode, with a slash at both ends; nil means `/<name>/`.
    package var mount: String?
    package var privacy = ServicePrivacy.shared
    /// Hosts beside that of `baseURL` which resources of this service may be on.
    package var allowHosts: [HostPattern] = []
    /// Through which proxy the origin is reached; nil means as `upstream.parent` says.
    package var parent: ParentProxy?
    /// Never ask the origin.
    package var offline = false
    /// In the order of the file; a later one overrides an earlier one.
    package var configure: [ConfigureBlock] = []

    package init() {}

    package init(name: String, baseURL: BaseURL) {
        self.name = name
        self.baseURL = baseURL
    }

    /// The prefix that leads here, whether it was named or not.
    package var effectiveMount: String { mount ?? "/\(name)/" }
}

/// Who may be answered from a stored response.
package enum ServicePrivacy: String, Sendable, CaseIterable {
    /// Everyone, as RFC 9111 §3.5 allows a shared cache.
    case shared
    /// Those who present the same credentials.
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
    package var cache: BlockCaching?
    package var offline: Bool?

    package init() {}

    /// How `expirationTime` relates to the origin's own lifetime, if this block says anything about it.
    package var expirationMode: ExpirationMode? {
        expirationTime?.mode ?? override.map { $0 ? .override : .fallback }
    }

    /// How the block is named to people.
    package var title: String { description ?? pattern.description }
}

/// Which URLs a block is for: those that every condition present accepts; without conditions, all of them.
package struct BlockPattern: Sendable, Equatable {
    /// A glob, relative to the service's `baseURL` unless it starts with a scheme.
    package var match: String?
    /// A regular expression searched for anywhere in the absolute URL, query included.
    package var regex: String?
    /// One absolute URL, query included.
    package var url: String?
    /// A glob as in `match`, of URLs that the block is not for.
    package var except: String?
    /// Query parameters that must be present, decoded, with the value they must have.
    package var query: [QueryCondition] = []
    /// `http` or `https`.
    package var scheme: String?
    package var host: HostPattern?

    package init() {}

    package struct QueryCondition: Sendable, Equatable {
        package var name: String
        package var value: QueryValue

        package init(name: String, value: QueryValue) {
            self.name = name
            self.value = value
        }
    }

    package enum QueryValue: Sendable, Equatable {
        case anything
        case absent
        case exactly(String)
    }
}

extension BlockPattern: CustomStringConvertible {
    package var description: String {
        var parts: [String] = []
        if let match { parts.append(match) }
        if let regex { parts.append("regex \(regex)") }
        if let url { parts.append("url \(url)") }
        if let except { parts.append("except \(except)") }
        for condition in query {
            switch condition.value {
            case .anything: parts.append("query \(condition.name)")
            case .absent: parts.append("no query \(condition.name)")
            case .exactly(let value): parts.append("query \(condition.name)=\(value)")
            }
        }
        if let scheme { parts.append("scheme \(scheme)") }
        if let host { parts.append("host \(host)") }
        return parts.isEmpty ? "everything" : parts.joined(separator: ", ")
    }
}

/// A lifetime, and how it relates to the one the origin names.
package struct Expiration: Sendable, Equatable {
    package var time: Duration
    package var mode: ExpirationMode?

    package init(time: Duration, mode: ExpirationMode? = nil) {
        self.time = time
        self.mode = mode
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

/// One field of `headers`: set on requests to the origin, or removed from them.
package struct HeaderEdit: Sendable {
    package var name: FieldName
    /// nil removes the field.
    package var value: Secret?

    package init(name: FieldName, value: Secret?) {
        self.name = name
        self.value = value
    }
}
