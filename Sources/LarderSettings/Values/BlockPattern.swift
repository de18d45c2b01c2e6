// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP

/// The URLs that a block is for: the URLs that satisfy all conditions. Without conditions, these are all URLs.
package struct BlockPattern: Sendable {
    /// Relative to the service's `baseURL` unless it starts with a scheme.
    package var match: GlobPattern?
    /// Searched for anywhere in the absolute URL, query included.
    package var regex: RegexPattern?
    /// One absolute URL, query included.
    package var url: TargetURI?
    /// A glob as in `match`, for excluded URLs.
    package var except: GlobPattern?
    package var query: [QueryCondition] = []
    package var scheme: URLScheme?
    package var host: HostPattern?

    package init() {}

    /// The required value of a query parameter, decoded. Of a repeated parameter, one value must match.
    package struct QueryCondition: Sendable, Equatable {
        package var name: String
        package var value: QueryValue
    }

    package enum QueryValue: Sendable, Equatable {
        case anything
        case absent
        case exactly(String)
    }
}

/// The schemes of resources.
package enum URLScheme: String, Sendable, CaseIterable {
    case http, https
}

extension BlockPattern: ConfigurationPattern {
    package func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
        var conditions: [@Sendable (ResourceURL) -> Bool] = []
        if let match { conditions.append(match.predicate(relativeTo: baseURL)) }
        if let regex { conditions.append(regex.predicate(relativeTo: baseURL)) }
        if let url { conditions.append { $0.target == url } }
        if let scheme { conditions.append { $0.target?.scheme.text == scheme.rawValue } }
        if let host {
            conditions.append { $0.target.map { host.matches(host: $0.host, port: $0.port) } ?? false }
        }
        if !query.isEmpty {
            conditions.append { [query] url in
                let parameters = QueryParameters(url.target?.query ?? "")
                return url.target != nil && query.allSatisfy(parameters.satisfy)
            }
        }
        if let except {
            let isExcluded = except.predicate(relativeTo: baseURL)
            conditions.append { !isExcluded($0) }
        }
        return { [conditions] url in conditions.allSatisfy { $0(url) } }
    }

    package var patternDescription: String {
        var parts: [String] = []
        if let match { parts.append(match.text) }
        if let regex { parts.append("regex \(regex.patternDescription)") }
        if let url { parts.append("url \(url)") }
        if let except { parts.append("except \(except.text)") }
        for condition in query {
            switch condition.value {
            case .anything: parts.append("query \(condition.name)")
            case .absent: parts.append("no query \(condition.name)")
            case .exactly(let value): parts.append("query \(condition.name)=\(value)")
            }
        }
        if let scheme { parts.append("scheme \(scheme.rawValue)") }
        if let host { parts.append("host \(host)") }
        return parts.isEmpty ? "everything" : parts.joined(separator: ", ")
    }
}

/// The parameters of a query as forms write them: `name=value` joined by `&`, percent-encoded, `+` for a space.
private struct QueryParameters {
    private let pairs: [(name: [UInt8], value: [UInt8])]

    init(_ query: String) {
        pairs = PercentText.pairs(in: query[...]).map {
            (name: PercentText.octets(of: $0.name.utf8), value: PercentText.octets(of: $0.value.utf8))
        }
    }

    func satisfy(_ condition: BlockPattern.QueryCondition) -> Bool {
        let values = pairs.filter { $0.name.elementsEqual(condition.name.utf8) }.map(\.value)
        return switch condition.value {
        case .anything: !values.isEmpty
        case .absent: values.isEmpty
        case .exactly(let text): values.contains { $0.elementsEqual(text.utf8) }
        }
    }
}
