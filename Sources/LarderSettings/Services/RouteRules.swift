// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// One entry of a service's `routes`: the paths it applies to, and how their URLs are rewritten before they are looked
/// up and forwarded.
package struct RouteRule: Sendable, Equatable {
    package var from: RouteTemplate
    /// nil leaves the path as it is.
    package var to: RouteTemplate?
    /// Applied in order.
    package var query: [QueryEdit]

    package init(from: RouteTemplate, to: RouteTemplate? = nil, query: [QueryEdit] = []) {
        self.from = from
        self.to = to
        self.query = query
    }
}

/// The routes of one service, which rewrite the URLs of requests.
///
/// The rewritten URL is looked up, stored and forwarded, so that two URLs of one resource share its stored responses.
/// Only the first matching rule is applied.
package struct RouteRules: Sendable {
    private let base: TargetURI
    private let rules: [RouteRule]

    /// nil when there are no rules, so that services without them only pay for one comparison.
    package init?(_ rules: [RouteRule], base: TargetURI) {
        guard !rules.isEmpty else { return nil }
        self.rules = rules
        self.base = base
    }

    /// The rewritten URL of a request for `uri`, or nil when it is unchanged.
    ///
    /// - Throws: when the rewritten URL would be too long.
    package func rewritten(_ uri: TargetURI) throws(URIError) -> TargetURI? {
        guard let path = pathBelowBase(uri) else { return nil }
        for rule in rules {
            guard let captures = rule.from.match(path) else { continue }
            let query = rule.query.reduce(uri.query) { $1.applied(to: $0) }
            let rewritten = try uriBelowBase(rule.to?.filled(with: captures) ?? path, query: query)
            return rewritten == uri ? nil : rewritten
        }
        return nil
    }

    /// The rule that is applied to `uri`, and its index; nil when none is.
    package func rule(for uri: TargetURI) -> (place: Int, rule: RouteRule)? {
        guard let path = pathBelowBase(uri) else { return nil }
        return rules.enumerated().first { $0.element.from.match(path) != nil }.map { ($0.offset, $0.element) }
    }

    /// The URL that is rewritten to `uri`, or nil when none is known; `uri` itself where no rule would change it.
    /// Queries are unchanged.
    package func original(of uri: TargetURI) -> TargetURI? {
        guard let path = pathBelowBase(uri) else { return uri }
        for rule in rules {
            guard let to = rule.to, Set(to.names) == Set(rule.from.names), let captures = to.match(path),
                let original = try? uriBelowBase(rule.from.filled(with: captures), query: uri.query),
                leads(original, to: path)
            else { continue }
            return original
        }
        return leads(uri, to: path) ? uri : nil
    }

    private func leads(_ uri: TargetURI, to path: [UInt8]) -> Bool {
        do throws(URIError) {
            return pathBelowBase(try rewritten(uri) ?? uri) == path
        } catch {
            return false
        }
    }

    /// The path relative to the base's, without a leading slash.
    private func pathBelowBase(_ uri: TargetURI) -> [UInt8]? {
        let start = base.pathRange.upperBound
        guard uri.hasSameOrigin(as: base), uri.pathRange.upperBound >= start else { return nil }
        return uri.withBytes { octets in
            base.withBytes(of: 0..<start) { octets.prefix(start).elementsEqual($0) }
                ? Array(octets[start..<uri.pathRange.upperBound]) : nil
        }
    }

    private func uriBelowBase(_ path: [UInt8], query: String?) throws(URIError) -> TargetURI {
        var octets = base.withBytes(of: 0..<base.pathRange.upperBound) { Array($0) }
        octets += path
        if let query { octets += Array("?".utf8) + Array(query.utf8) }
        var uri = TargetURI()
        try octets.withUnsafeBufferPointer { bytes throws(URIError) in
            try uri.set(absolute: UnsafeRawBufferPointer(bytes))
        }
        return uri
    }
}

/// A change to the query of a URL. All changes are idempotent.
package enum QueryEdit: Sendable, Equatable {
    /// Sets the parameter to exactly this value.
    case set(name: String, value: String)
    /// Adds the parameter with this value if the request has none.
    case add(name: String, value: String)
    case remove(name: String)

    package var name: String {
        switch self {
        case .set(let name, _), .add(let name, _), .remove(let name): name
        }
    }

    /// The query, without its question mark, after the change; nil when it is empty. Unchanged parameters keep their
    /// spelling and order.
    package func applied(to query: String?) -> String? {
        var parameters = (query ?? "").split(separator: "&", omittingEmptySubsequences: false).map(String.init)
        if parameters == [""] { parameters = [] }
        let isNamed = { (parameter: String) in
            PercentText.decoded(parameter.prefix { $0 != "=" }) == name
        }
        switch self {
        case .remove:
            guard parameters.contains(where: isNamed) else { return query }
            parameters.removeAll(where: isNamed)
        case .add(let name, let value):
            guard !parameters.contains(where: isNamed) else { return query }
            parameters.append(QueryEdit.parameter(name, value))
        case .set(let name, let value):
            let first = parameters.firstIndex(where: isNamed) ?? parameters.endIndex
            parameters.removeAll(where: isNamed)
            parameters.insert(QueryEdit.parameter(name, value), at: min(first, parameters.endIndex))
        }
        return parameters.isEmpty ? nil : parameters.joined(separator: "&")
    }

    private static func parameter(_ name: String, _ value: String) -> String {
        "\(PercentText.encoded(name))=\(PercentText.encoded(value))"
    }
}
