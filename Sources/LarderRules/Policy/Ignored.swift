// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The directives of requests that the configuration says to ignore (`ignoreRequest`).
package struct IgnoredRequest: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let noCache = IgnoredRequest(rawValue: 1)
    package static let maxAge = IgnoredRequest(rawValue: 2)
    package static let noStore = IgnoredRequest(rawValue: 4)
    package static let pragma = IgnoredRequest(rawValue: 8)

    /// Removes the ignored directives from a request, and returns the names of those that were there.
    @discardableResult
    package func remove(from fields: inout Fields) -> [String] {
        var removed: [String] = []
        if contains(.pragma), fields.contains(.pragma) {
            fields.remove(.pragma)
            removed.append("pragma")
        }
        guard !isDisjoint(with: [.noCache, .maxAge, .noStore]), let value = fields[.cacheControl] else {
            return removed
        }
        var kept: [Substring] = []
        for member in IgnoredRequest.members(of: value) {
            let name = member.prefix { $0 != "=" }.lowercased()
            if directives.contains(name) { removed.append(name) } else { kept.append(member) }
        }
        guard kept.isEmpty else {
            if !removed.isEmpty { fields[.cacheControl] = kept.joined(separator: ", ") }
            return removed
        }
        fields.remove(.cacheControl)
        // It meant nothing beside Cache-Control, and must not take effect now.
        fields.remove(.pragma)
        return removed
    }

    private var directives: [String] {
        var names: [String] = []
        if contains(.noCache) { names.append("no-cache") }
        if contains(.maxAge) { names.append("max-age") }
        if contains(.noStore) { names.append("no-store") }
        return names
    }

    /// The members of a list, whose commas may be in quotes.
    static func members(of value: String) -> [Substring] {
        var isQuoted = false
        var isEscaped = false
        return value.split { character in
            defer { isEscaped = isQuoted && !isEscaped && character == "\\" }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
        .map { $0.drop { $0 == " " || $0 == "\t" } }
        .filter { !$0.isEmpty }
    }
}

/// The directives of responses that the configuration says to ignore (`ignoreResponse`).
package struct IgnoredResponse: Sendable, Hashable {
    package struct Directives: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let noStore = Directives(rawValue: 1)
        package static let isPrivate = Directives(rawValue: 2)
        package static let noCache = Directives(rawValue: 4)
        package static let mustRevalidate = Directives(rawValue: 8)
        /// A response that sets a cookie is stored as if it did not; the cookie is not.
        package static let setCookie = Directives(rawValue: 16)
    }

    package var directives: Directives = []
    /// Fields that do not select responses although `Vary` names them.
    package var vary: Set<FieldName> = []
    /// True if the origin sends the same to everyone: then credentials do not matter.
    package var isForEveryone = false

    package init(_ directives: Directives = [], vary: Set<FieldName> = [], isForEveryone: Bool = false) {
        self.directives = directives
        self.vary = vary
        self.isForEveryone = isForEveryone
    }

    package var isEmpty: Bool { directives.isEmpty && vary.isEmpty }
}

extension CachePolicy {
    /// True if the origin sees credentials, whoever they are from, that its answer may depend on.
    package func sendsCredentials(with request: Fields) -> Bool {
        !ignoredResponse.isForEveryone && (addsCredentials || Credentials.areIn(request))
    }

    /// The directives of a response that the configuration ignores, for a request with or without such a credential: a
    /// response that may be one user's does not become everyone's because a directive is ignored.
    package func ignored(forPersonal isPersonal: Bool) -> IgnoredResponse.Directives {
        var ignored = ignoredResponse.directives
        if role == .private || ignoredResponse.isForEveryone { return ignored }
        ignored.subtract([.isPrivate, .setCookie])
        if isPersonal { ignored.subtract([.noStore, .noCache]) }
        return ignored
    }

    /// The directives of a response except the ignored ones.
    package func directives(of fields: Fields, isPersonal: Bool) -> CacheControl.Response {
        var directives = CacheControl.Response(fields, targets: targets)
        if ignoredResponse.directives.isEmpty { return directives }
        let ignored = ignored(forPersonal: isPersonal)
        if ignored.contains(.noStore) { directives.flags.remove(.noStore) }
        if ignored.contains(.isPrivate) { directives.flags.remove(.isPrivate) }
        if ignored.contains(.noCache) { directives.flags.remove(.noCache) }
        return directives
    }

    /// The ignored directives that a response has, in the words of the configuration; nil for none.
    package func ignoredWords(of fields: Fields, isPersonal: Bool) -> String? {
        if ignoredResponse.isEmpty { return nil }
        let ignored = ignored(forPersonal: isPersonal)
        let flags = CacheControl.Response(fields, targets: targets).flags
        var words: [String] = []
        if ignored.contains(.noStore), flags.contains(.noStore) { words.append("no-store") }
        if ignored.contains(.isPrivate), flags.contains(.isPrivate) { words.append("private") }
        if ignored.contains(.noCache), flags.contains(.noCache) { words.append("no-cache") }
        if ignored.contains(.mustRevalidate), flags.contains(.mustRevalidate) { words.append("must-revalidate") }
        if !ignoredResponse.vary.isEmpty, let names = Variance.names(fields),
            names.contains(where: ignoredResponse.vary.contains)
        {
            words.append("vary")
        }
        return words.isEmpty ? nil : "ignored " + words.joined(separator: " ")
    }

    /// The variance of a response to a request, without the ignored fields.
    package func variance(of response: Fields, to request: Fields) -> Variance {
        guard !ignoredResponse.vary.isEmpty, let names = Variance.names(response) else {
            return Variance(vary: response, request: request)
        }
        var vary = Fields()
        vary[.vary] = names.filter { !ignoredResponse.vary.contains($0) }.map(\.spelling).joined(separator: ", ")
        return Variance(vary: vary, request: request)
    }
}
